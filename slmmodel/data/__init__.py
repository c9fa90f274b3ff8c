"""Data for models, from packed shards to batches. Imports nothing of text or models; torch only where it is needed.

A `TokenSource` gives blocks of documents; token shards are one block. A `Packing` (also: sliding windows) arranges the
documents of a block in sequences of `seq_len` ids: each is a list of `Span`s, which are ranges of documents. The
`Loader` permutes the sequences of each block and epoch, and assembles those of a step to a `Batch`.
`ShardDataset` and `ShardLoader` give the same sequences to other training loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slmmodel.data.batch import Batch, make_batch
from slmmodel.data.loader import Cursor, Loader
from slmmodel.data.opening import RunData, open_data, open_source
from slmmodel.data.packing import Packing, PackingStats, Span
from slmmodel.data.source import ArraySource
from slmmodel.data.strategies import make_packing

if TYPE_CHECKING:
    from slmmodel.data.dataset import ShardDataset, ShardLoader

__all__ = [
    "ArraySource",
    "Batch",
    "Cursor",
    "Loader",
    "Packing",
    "PackingStats",
    "RunData",
    "ShardDataset",
    "ShardLoader",
    "Span",
    "make_batch",
    "make_packing",
    "open_data",
    "open_source",
]


def __getattr__(name: str) -> object:
    """The classes that derive from those of torch."""
    if name in ("ShardDataset", "ShardLoader"):
        from slmmodel.data import dataset

        return getattr(dataset, name)
    raise AttributeError(f"module 'slmmodel.data' has no attribute {name!r}")
