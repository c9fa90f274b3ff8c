"""Data for models: sources of token ids, plans that cut them into sequences, their order, and batches.

It reads ids and vocabulary metadata, and imports nothing of text or models. Importing it loads numpy, not torch.
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
