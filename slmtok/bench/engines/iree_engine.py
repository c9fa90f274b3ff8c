"""iree-tokenizer: reads rank files of tiktoken's encodings, told which; other ranks go by the pattern's encoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import Engine, UnsupportedError, module, only

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.source import Source

_ENCODINGS = {"gpt2": "r50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}


class Peer(Engine):
    """iree-tokenizer."""

    form = "array"

    def load(self, source: Source) -> None:
        self.tokenizer = module("iree.tokenizer").Tokenizer.from_tiktoken(source.ranks, only(_ENCODINGS, source))

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        if threads != 1:
            raise UnsupportedError("encodes on one thread")
        return self.tokenizer.encode_batch_to_array(list(documents))

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        return self.one(encoded[0])

    def list_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode  # type: ignore[no-any-return]

    def numpy_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode_to_array  # type: ignore[no-any-return]
