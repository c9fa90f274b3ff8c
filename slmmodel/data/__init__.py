"""Data for models, from packed shards to batches. Imports nothing of text or models; torch only where it is needed.

A `TokenSource` gives blocks of documents; token shards are one block. A `Packing` (also: sliding windows) arranges the
documents of a block in sequences of `seq_len` ids: each is a list of `Span`s, which are ranges of documents. The
`Loader` permutes the sequences of each block and epoch, and assembles those of a step to a `Batch`.
`ShardDataset` and `ShardLoader` give the same sequences to other training loops.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from slmmodel.data.batch import Batch, make_batch
from slmmodel.data.loader import Cursor, Loader
from slmmodel.data.opening import RunData, open_data, open_source
from slmmodel.data.packing import Packing, PackingStats, Span
from slmmodel.data.source import ArraySource
from slmmodel.data.strategies import make_packing
from slmmodel.errors import with_import_explained

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
    raise _missing(name)


def _missing(name: str) -> AttributeError | ImportError:
    """The error for a name that this module lacks, with the nearest one here for names of torch and datasets."""
    lower, fix = name.lower(), ""
    if "loader" in lower:
        fix = "slmmodel.data.ShardLoader('DATA', seq_len=256, batch_size=8), batches of packed data"
    elif lower.startswith(("load", "open", "read")):
        fix = "slmmodel.data.open_data('DATA'), packed data"
    elif lower.endswith("dataset"):
        fix = "slmmodel.data.ShardDataset('DATA', seq_len=256), sequences of packed data"
    if not fix or find_spec(f"slmmodel.data.{name}"):
        # An import of a module of this package asks for the attribute first.
        return AttributeError(f"module 'slmmodel.data' has no attribute {name!r}")
    # Of an `AttributeError`, `from slmmodel.data import ...` would show no message.
    is_import = sys._getframe(2).f_globals.get("__name__") == "importlib._bootstrap"
    return (ImportError if is_import else AttributeError)(
        f"slmmodel.data has no {name!r}\n  fix:   {with_import_explained(fix)}"
    )
