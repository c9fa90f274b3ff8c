"""tokie: reads a `tokenizer.json`. One text at a time here; its batch call spreads over all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import OneByOne, module

if TYPE_CHECKING:
    from slmtok.bench.source import Source


class Peer(OneByOne):
    """tokie."""

    def load(self, source: Source) -> None:
        self.tokenizer = module("tokie").Tokenizer.from_json(source.json)

    def list_call(self) -> Callable[[str], Any]:
        encode = self.tokenizer.encode
        return lambda text: encode(text, add_special_tokens=False).ids
