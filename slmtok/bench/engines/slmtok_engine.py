"""slmtok itself: batches into a `Ragged`, training as `slmtok.train` with the options of the imitated trainers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import Engine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok import Ragged
    from slmtok.bench.source import Source


class Peer(Engine):
    """slmtok."""

    form = "array"

    def load(self, source: Source) -> None:
        import slmtok

        if source.tokenizer:
            self.tokenizer = slmtok.load(source.tokenizer)
        else:
            self.tokenizer = slmtok.from_tiktoken(source.ranks, pattern=source.pattern or source.regex, specials={})
        self.shift = source.shift

    def encode(self, documents: Sequence[str], threads: int) -> Ragged:
        return self.tokenizer.encode_batch(documents, threads=threads)

    def ids(self, encoded: Ragged) -> NDArray[np.uint32]:
        return self.one(encoded.ids)

    def one(self, ids: Any) -> NDArray[np.uint32]:
        import numpy as np

        wide: NDArray[np.uint32] = np.array(ids, dtype=np.uint32)
        wide -= self.shift
        return wide

    def list_call(self) -> Callable[[str], list[int]]:
        return self.tokenizer.encode_list

    def numpy_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        import slmtok

        tokenizer = slmtok.train(
            str(corpus),
            vocab=vocab,
            pattern=pattern,
            min_count=1,
            max_token_bytes=0,
            threads=threads,
            allow_smaller=True,
        )
        return [token for _, token in tokenizer.vocabulary.items()][256:]
