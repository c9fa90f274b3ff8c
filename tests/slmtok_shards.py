"""Helpers for tests of shards: a folder as bytes, and documents read back."""

from __future__ import annotations

from pathlib import Path

import slmtok
from slmtok.shards import Shards


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def decoded(shards: Shards, tokenizer: slmtok.Tokenizer, split: str) -> list[str]:
    """The documents of a split as text, their frames left out."""
    rows = (shards.document(index, split) for index in range(shards.n_docs(split)))
    return [tokenizer.decode(row, skip_special=True) for row in rows]
