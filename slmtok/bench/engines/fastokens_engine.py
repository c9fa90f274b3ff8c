"""fastokens: encodes with tiktoken's ranks and any regex. Its flat call gives the bytes of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import Engine, module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.source import Source


class Peer(Engine):
    """fastokens."""

    form = "array"

    def load(self, source: Source) -> None:
        native = module("fastokens._native").Tokenizer
        self.tokenizer = native.from_tiktoken(source.ranks, pattern=source.regex, special_tokens={})

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        return self.tokenizer.encode_batch_flat(list(documents))

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        import numpy as np

        return np.frombuffer(encoded[0], dtype=np.uint32)

    def list_call(self) -> Callable[[str], Any]:
        encode = self.tokenizer.encode
        return lambda text: encode(text).ids

    def numpy_call(self) -> Callable[[str], Any]:
        import numpy as np

        encode = self.tokenizer.encode_batch_flat
        return lambda text: np.frombuffer(encode([text])[0], dtype=np.uint32)
