"""slmtok itself: batches into a `Ragged`, training as `slmtok.train` with the options of the imitated trainers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.engines.base import Engine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok import Ragged


class Peer(Engine):
    """slmtok."""

    package = "slmtok"
    form = "array"

    def load(self, encoding: str, ranks: Path) -> None:
        import slmtok

        self.tokenizer = slmtok.from_tiktoken(encoding)

    def encode(self, documents: Sequence[str], threads: int) -> Ragged:
        return self.tokenizer.encode_batch(documents, threads=threads)

    def ids(self, encoded: Ragged) -> NDArray[np.uint32]:
        import numpy as np

        return encoded.ids.astype(np.uint32)

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
