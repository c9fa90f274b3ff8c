"""tiktoken: the oracle of encoding. Its batch call is a pool of Python threads; on one thread, one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import Engine, module
from slmtok.bench.source import read_ranks

if TYPE_CHECKING:
    from slmtok.bench.source import Source


class Peer(Engine):
    """tiktoken."""

    form = "list"

    def load(self, source: Source) -> None:
        ranks = read_ranks(source.ranks)
        self.encoding = module("tiktoken").Encoding(
            source.name, pat_str=source.regex, mergeable_ranks=ranks, special_tokens={}
        )

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        if threads == 1:
            return [self.encoding.encode_ordinary(document) for document in documents]
        return self.encoding.encode_ordinary_batch(list(documents), num_threads=threads or os.cpu_count() or 1)

    def list_call(self) -> Callable[[str], Any]:
        return self.encoding.encode_ordinary  # type: ignore[no-any-return]

    def numpy_call(self) -> Callable[[str], Any]:
        return partial(self.encoding.encode_to_numpy, disallowed_special=())
