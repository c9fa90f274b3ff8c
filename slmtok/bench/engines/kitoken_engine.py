"""kitoken: reads tiktoken's published rank files, and any other vocabulary as a `tokenizer.json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import OneByOne, module

if TYPE_CHECKING:
    from slmtok.bench.source import Source


class Peer(OneByOne):
    """kitoken."""

    def load(self, source: Source) -> None:
        native = module("kitoken").Kitoken
        if source.name == "own":
            self.tokenizer = native.from_tokenizers_file(source.json)
        else:
            self.tokenizer = native.from_tiktoken_file(source.ranks)

    def list_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode  # type: ignore[no-any-return]
