"""Data for models, from packed shards to batches. Imports nothing of text or models; importing it loads numpy only.

A `TokenSource` gives blocks of `Documents`; packed data are one block. A `Plan` (a packing or windowing strategy) cuts
the documents of a block into sequences: each is a list of `Span`s, which are ranges of pairs of an input id and the id
that follows. The `Loader` permutes the sequences of each block and epoch, and assembles those of a step to a `Batch`.
"""

from __future__ import annotations

from slmmodel.data.batch import Batch, make_batch
from slmmodel.data.loader import Cursor, Loader
from slmmodel.data.opening import RunData, open_data, open_source
from slmmodel.data.plan import make_plan
from slmmodel.data.source import ArraySource
from slmmodel.data.spans import Plan, PlanStats, Span

__all__ = [
    "ArraySource",
    "Batch",
    "Cursor",
    "Loader",
    "Plan",
    "PlanStats",
    "RunData",
    "Span",
    "make_batch",
    "make_plan",
    "open_data",
    "open_source",
]
