"""bpe-openai: the linear algorithm of rust-gems, for two encodings that it carries with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import OneByOne, module, only

if TYPE_CHECKING:
    from slmtok.bench.source import Source


class Peer(OneByOne):
    """bpe-openai."""

    def load(self, source: Source) -> None:
        name = only({"cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}, source)
        self.tokenizer = module("bpe_openai").get_encoding(name)

    def list_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode_ordinary  # type: ignore[no-any-return]
