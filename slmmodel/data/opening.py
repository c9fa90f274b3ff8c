"""`open_source`: ids by their path, whatever layout they have."""

from __future__ import annotations

import os
from pathlib import Path

from slmmodel.data.foreign import ForeignSource, open_foreign
from slmmodel.data.shards import MANIFEST, ShardSource, open_shards
from slmmodel.vocab import VocabMeta

FileSource = ShardSource | ForeignSource


def open_source(
    path: str | os.PathLike[str],
    split: str = "train",
    *,
    layout: str | None = None,
    vocab: VocabMeta | None = None,
    dtype: str | None = None,
    delimiter: int | None = None,
) -> FileSource:
    """Opens a split of packed data, or a file of ids in another layout (in a folder, its `SPLIT.bin` or `SPLIT.npy`).

    `layout` (see `LAYOUTS`), `vocab`, `dtype` (`u2`, `u4`) and `delimiter` (an id) say what such a file cannot; packed
    data need none of them. Raises `MissingShards`, `CorruptShards`, `UnsupportedShards`, `FingerprintMismatch`.
    """
    folder = Path(path)
    if folder.is_dir() and not (folder / MANIFEST).exists():
        inside = [folder / f"{split}{suffix}" for suffix in (".bin", ".npy")]
        found = next((file for file in inside if file.is_file()), None)
        if found is not None:
            return open_foreign(found, layout=layout, vocab=vocab, dtype=dtype, delimiter=delimiter)
    if folder.is_file():
        return open_foreign(folder, layout=layout, vocab=vocab, dtype=dtype, delimiter=delimiter)
    return open_shards(folder, split)
