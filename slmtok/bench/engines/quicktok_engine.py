"""quicktok (on the package index quicktok-v1): a few encodings with hand-written scanners and tables of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import Engine, module, only

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.source import Source


class Peer(Engine):
    """quicktok-v1."""

    form = "array"

    def load(self, source: Source) -> None:
        name = only({"cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}, source)
        self.tokenizer = module("quicktok").get_encoding(name)

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        return self.tokenizer.encode_batch(documents, threads=threads)

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        return self.one(encoded[0])

    def list_call(self) -> Callable[[str], Any]:
        return self.tokenizer.encode_ordinary  # type: ignore[no-any-return]
