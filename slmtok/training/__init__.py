"""Training: a corpus to counts, counts to a tokenizer, and a report of what was seen. Nothing here prints."""

from __future__ import annotations

from slmtok.training.api import Trained, count, train, train_with_report
from slmtok.training.counts import PretokenCounts
from slmtok.training.counts_file import merge_counts
from slmtok.training.options import CountOptions, TrainOptions
from slmtok.training.report import TrainReport
from slmtok.training.texts import Texts

__all__ = [
    "CountOptions",
    "PretokenCounts",
    "Texts",
    "TrainOptions",
    "TrainReport",
    "Trained",
    "count",
    "merge_counts",
    "train",
    "train_with_report",
]
