"""Data for models, from packed shards to batches. Imports nothing of text or models; importing it loads numpy only.

A `TokenSource` gives blocks of documents; token shards are one block. A `Packing` (also: sliding windows) arranges the
documents of a block in sequences of `seq_len` ids: each is a list of `Span`s, which are ranges of documents. The
`Loader` permutes the sequences of each block and epoch, and assembles those of a step to a `Batch`.
"""

from __future__ import annotations

from slmmodel.data.batch import Batch, make_batch
from slmmodel.data.loader import Cursor, Loader
from slmmodel.data.opening import RunData, open_data, open_source
from slmmodel.data.packing import Packing, PackingStats, Span
from slmmodel.data.source import ArraySource
from slmmodel.data.strategies import make_packing

__all__ = [
    "ArraySource",
    "Batch",
    "Cursor",
    "Loader",
    "Packing",
    "PackingStats",
    "RunData",
    "Span",
    "make_batch",
    "make_packing",
    "open_data",
    "open_source",
]
