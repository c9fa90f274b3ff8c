"""gigatoken: encodes with tiktoken's ranks, trains with the GPT-2 pattern. It keeps a table of pieces between calls.

Its Unicode tables are of version 17, so ids can differ from tiktoken's on rare text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import Engine, UnsupportedError, module, only

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.source import Source

_PATTERNS = {"gpt2": "gpt2", "cl100k": "cl100k", "o200k": "o200k"}


class Peer(Engine):
    """gigatoken."""

    form = "object"

    def load(self, source: Source) -> None:
        # It imports these at the first batch; that is getting ready, not encoding.
        module("awkward")
        module("numpy.ma")
        pattern = only(_PATTERNS, source)
        self.tokenizer = module("gigatoken").Tokenizer.from_tiktoken(source.ranks, pattern, {})

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        return self.tokenizer.encode_batch(list(documents), parallel=threads != 1)

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        import numpy as np

        return np.asarray(module("awkward").flatten(encoded)).astype(np.uint32)

    def list_call(self) -> Callable[[str], Any]:
        encode = self.tokenizer.encode
        return lambda text: encode(text).tolist()

    def numpy_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode  # type: ignore[no-any-return]

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        gigatoken = module("gigatoken")
        if pattern != "gpt2":
            raise UnsupportedError(f"trains with the GPT-2 pattern, not with {pattern}")
        source = gigatoken.TextFileSource([str(corpus)])
        _, merges = gigatoken.train_bpe(source, vocab - 16, [], tie_breaking="raw_token_ids")
        return [left + right for left, right in merges]
