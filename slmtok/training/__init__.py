"""Training: a corpus to counts, counts to a tokenizer, and a report of the run. Nothing here prints."""

from __future__ import annotations

from slmtok.options import CountOptions, TrainOptions
from slmtok.training.api import Trained, count, train, train_counts, train_sizes, train_with_report
from slmtok.training.counts import PretokenCounts, merge_counts
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
    "train_counts",
    "train_sizes",
    "train_with_report",
]
