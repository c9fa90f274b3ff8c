"""Layout `slm`: our own shards, which nothing has to be turned into.

When to pick it: always, unless another loader asks for something else. Price: none. Promises: documents, raw bytes,
domains, split and tokenizer are known; every file is checked against a digest.
"""

from __future__ import annotations

from pathlib import Path

from slmtok.shards.header import HEADER_BYTES, Header
from slmtok.shards.layouts.base import Layout, TokenFile, Writing, raw_ids


def write(writing: Writing) -> list[str]:
    """Nothing is left to do; the names of the shards."""
    return [f"{entry['name']}.bin" for entry in writing.shards.manifest["shards"]]


def read(path: Path, wide: bool) -> TokenFile:
    """The ids of one `.bin`; its header says how wide they are. Raises `CorruptShard`."""
    with path.open("rb") as file:
        header = Header.parse(file.read(HEADER_BYTES), str(path))
    return TokenFile(raw_ids(path, wide=header.id_bytes == 4, skip=HEADER_BYTES))


def split_of(name: str, head: bytes) -> None:
    """Shards are known by their manifest, never one by one."""


LAYOUT = Layout("slm", "bos_eos", "our shards", write, read, split_of)
