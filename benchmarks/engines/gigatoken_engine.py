"""gigatoken: encodes with tiktoken's ranks, trains with the GPT-2 pattern. It keeps a table of pieces between calls.

Its Unicode tables are of version 17, so ids can differ from tiktoken's on rare text; then it is reported, not ranked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.engines.base import Engine, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PRETOKENIZERS = {
    "gpt2": "gpt2",
    "r50k_base": "gpt2",
    "p50k_base": "gpt2",
    "cl100k_base": "cl100k",
    "o200k_base": "o200k",
}


class Peer(Engine):
    """gigatoken."""

    package = "gigatoken"
    form = "object"

    def load(self, encoding: str, ranks: Path) -> None:
        # It imports awkward at the first call; that is getting ready, not encoding.
        import awkward  # noqa: F401
        import gigatoken

        self.tokenizer = gigatoken.Tokenizer.from_tiktoken(ranks, _PRETOKENIZERS[encoding], {})

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        return self.tokenizer.encode_batch(list(documents), parallel=threads != 1)

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        import awkward
        import numpy as np

        return np.asarray(awkward.flatten(encoded)).astype(np.uint32)

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        import gigatoken

        if pattern != "gpt2":
            raise UnsupportedError(f"trains with the GPT-2 pattern, not with {pattern}")
        source = gigatoken.TextFileSource([str(corpus)])
        _, merges = gigatoken.train_bpe(source, vocab - 16, [], tie_breaking="raw_token_ids")
        return [left + right for left, right in merges]
