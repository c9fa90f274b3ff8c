"""rs-bpe: the linear algorithm of rust-gems, for two encodings that it carries with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import OneByOne, module, only

if TYPE_CHECKING:
    from slmtok.bench.source import Source


class Peer(OneByOne):
    """rs-bpe."""

    def load(self, source: Source) -> None:
        name = only({"cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}, source)
        self.tokenizer = getattr(module("rs_bpe.bpe").openai, name)()

    def list_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode  # type: ignore[no-any-return]
