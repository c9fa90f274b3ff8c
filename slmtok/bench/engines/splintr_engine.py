"""splintr (on the package index splintr-rs): encodes with tiktoken's ranks.

Its regex engine has no possessive quantifiers, so the named patterns are its own and a custom one is made plain.
Batches go to Rayon's threads; the flat call gives the bytes of an array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import Engine, module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.source import Source

_PATTERNS = {"gpt2": "GPT2_PATTERN", "cl100k": "CL100K_BASE_PATTERN", "o200k": "O200K_BASE_PATTERN"}
_POSSESSIVE = re.compile(r"(?<!\\)([+*?]|\{\d+(?:,\d*)?\})\+")


class Peer(Engine):
    """splintr-rs."""

    form = "array"

    def load(self, source: Source) -> None:
        splintr = module("splintr")
        own = _PATTERNS.get(source.pattern)
        regex = getattr(splintr, own) if own else _POSSESSIVE.sub(r"\1", source.regex)
        self.tokenizer = splintr.Tokenizer(source.ranks, regex, {})

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        return self.tokenizer.encode_batch_flat(list(documents))

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        import numpy as np

        return np.frombuffer(encoded[0], dtype=np.uint32)

    def list_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode_ordinary  # type: ignore[no-any-return]

    def numpy_call(self) -> Callable[[str], Any]:
        import numpy as np

        encode = self.tokenizer.encode_flat
        return lambda text: np.frombuffer(encode(text), dtype=np.uint32)
