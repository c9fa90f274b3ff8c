"""Layout `nanogpt`: `train.bin` and `val.bin`, ids alone, two bytes each, with a `meta.json` beside them.

When to pick it: for nanoGPT's train.py and its many descendants. Price: raw bytes of documents are forgotten, and only
`eos` behind each tells them apart. Promises: no pickle; where nanoGPT reads its vocabulary size from `meta.pkl`,
`meta.json` holds it, to be passed by hand. A corpus without validation gives no `val.bin`.
"""

from __future__ import annotations

from pathlib import Path

from slmtok.shards.layouts.base import (
    Layout,
    TokenFile,
    Writing,
    blocks,
    is_bare,
    need_u16,
    raw_ids,
    split_in,
    write_blocks,
)


def write(writing: Writing) -> list[str]:
    """Raises `InvalidOption` for more than 65,536 ids."""
    need_u16(writing.shards.manifest["n_vocab"], "nanogpt")
    names = []
    for split in writing.shards.splits:
        names.append(f"{split}.bin")
        with (writing.folder / names[-1]).open("wb") as file:
            write_blocks(file, blocks(writing.shards, split))
    return names


def read(path: Path, wide: bool) -> TokenFile:
    """The ids of one file. Raises `CorruptFile`."""
    return TokenFile(raw_ids(path, wide=wide))


def split_of(name: str, head: bytes) -> str | None:
    """`train.bin` and `val.bin`, also behind or before other words."""
    return split_in(name) if is_bare(name, head) else None


LAYOUT = Layout("nanogpt", "eos", "train.bin and val.bin of two-byte ids", write, read, split_of, narrow=True)
