"""`open_source`: token data by its path."""

from __future__ import annotations

import os
from pathlib import Path

from slmmodel.data.shards import ShardSource, open_shards


def open_source(path: str | os.PathLike[str], split: str = "train") -> ShardSource:
    """Opens a split of packed data. Raises `MissingShards`, `CorruptShards`, `UnsupportedShards`,
    `FingerprintMismatch`, each naming file and field."""
    return open_shards(Path(path), split)
