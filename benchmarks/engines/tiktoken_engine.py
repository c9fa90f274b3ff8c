"""tiktoken: the oracle of encoding. Its batch call is a pool of Python threads; on one thread, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.engines.base import Engine, flat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Peer(Engine):
    """tiktoken."""

    package = "tiktoken"
    form = "list"

    def load(self, encoding: str, ranks: Path) -> None:
        import tiktoken

        self.encoding = tiktoken.get_encoding(encoding)

    def encode(self, documents: Sequence[str], threads: int) -> list[list[int]]:
        if threads == 1:
            return [self.encoding.encode_ordinary(document) for document in documents]
        return self.encoding.encode_ordinary_batch(list(documents), num_threads=threads)

    def ids(self, encoded: list[list[int]]) -> NDArray[np.uint32]:
        return flat(encoded)
