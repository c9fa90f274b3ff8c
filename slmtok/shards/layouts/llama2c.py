"""Layout `llama2c`: `data00.bin`, `data01.bin`, … of two-byte ids, each document begun by `bos` and ended by nothing.

When to pick it: for llama2.c's train.py, which validates on the first file and trains on the others; so the first file
is the validation split. Price: raw bytes are forgotten. Promises: the ids 1 and 2 are those that its run.c expects.
"""

from __future__ import annotations

import re
from pathlib import Path

from slmtok.shards.layouts.base import (
    Layout,
    TokenFile,
    Writing,
    is_bare,
    need_u16,
    need_validation,
    raw_ids,
    write_blocks,
)


def write(writing: Writing) -> list[str]:
    """Raises `InvalidOption` for more than 65,536 ids, and for a corpus without validation."""
    need_u16(writing.shards.manifest["n_vocab"], "llama2c")
    need_validation("val" in writing.shards.splits, "llama2c")
    members = [writing.shards.shards[split] for split in ("val", "train") if split in writing.shards.splits]
    names = []
    parts = [members[0], *([shard] for shard in (members[1] if len(members) > 1 else []))]
    width = max(2, len(str(len(parts) - 1)))
    for number, shards in enumerate(parts):
        names.append(f"data{number:0{width}d}.bin")
        with (writing.folder / names[-1]).open("wb") as file:
            write_blocks(file, (shard.ids for shard in shards))
    return names


def read(path: Path, wide: bool) -> TokenFile:
    """The ids of one file. Raises `CorruptFile`."""
    return TokenFile(raw_ids(path, wide=wide))


def split_of(name: str, head: bytes) -> str | None:
    """The file of number 0 is validation."""
    number = re.fullmatch(r"data(\d+)\.bin", name) if is_bare(name, head) else None
    return None if number is None else "val" if int(number[1]) == 0 else "train"


LAYOUT = Layout(
    "llama2c",
    "bos",
    "data00.bin, data01.bin, … as llama2.c reads them",
    write,
    read,
    split_of,
    narrow=True,
    validates=True,
)
