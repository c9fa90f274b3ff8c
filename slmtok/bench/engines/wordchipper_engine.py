"""wordchipper: tiktoken's public encodings, which it looks for in a folder of its own and would fetch otherwise.

The rank file is put where it looks, so nothing is fetched.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import OneByOne, UnsupportedError, module

if TYPE_CHECKING:
    from slmtok.bench.source import Source


class Peer(OneByOne):
    """wordchipper."""

    def load(self, source: Source) -> None:
        if source.name not in ("r50k_base", "cl100k_base", "o200k_base"):
            raise UnsupportedError("has no call for a vocabulary in a file")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "openai" / source.name
            place.mkdir(parents=True)
            (place / f"{source.name}.tiktoken").symlink_to(source.ranks)
            os.environ["WORDCHIPPER_CACHE_DIR"] = folder
            self.tokenizer = module("wordchipper").Tokenizer.from_pretrained(source.name)

    def list_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode  # type: ignore[no-any-return]
