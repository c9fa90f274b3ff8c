"""riptoken: tiktoken's algorithm anew, from ranks and a regex."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import OneByOne, module
from slmtok.bench.source import read_ranks

if TYPE_CHECKING:
    from slmtok.bench.source import Source


class Peer(OneByOne):
    """riptoken."""

    def load(self, source: Source) -> None:
        self.tokenizer = module("riptoken").CoreBPE(read_ranks(source.ranks), {}, source.regex)

    def list_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode_ordinary  # type: ignore[no-any-return]
