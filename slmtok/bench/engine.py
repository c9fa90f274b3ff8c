"""The interface of a measured engine: load a vocabulary, encode, train. The adapters are in `engines.py`.

`load` is timed apart from encoding. A batch has the type that the engine returns fastest; `ids` converts it into one
flat uint32 array outside the measured time. Ids are those of the rank file: 0 is its first token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from slmtok.specials import N_SPECIALS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.source import Source


Call: TypeAlias = Callable[[str], Any]


class UnsupportedError(Exception):
    """The engine lacks this operation or cannot load this vocabulary; it is left out of the table, with the reason."""


class Engine:
    """One tokenizer. Operations that it lacks raise `UnsupportedError`."""

    form = ""
    """The type that `encode` returns: "array", "list" or "object". Lists cost 20 to 40 ns an id."""
    tie_break: str | None = "rank"
    """The tie-break rule that its trainer follows; None: another algorithm, whose merges are not compared."""

    def load(self, source: Source) -> None:
        """Loads a vocabulary."""
        raise UnsupportedError("does not encode")

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        """Encodes all documents; text that spells a special token is ordinary text."""
        raise UnsupportedError("does not encode batches")

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        """The result of `encode` as one flat array."""
        return flatten(encoded)

    def list_call(self) -> Call:
        """The engine's own function from one text to a list of ids."""
        raise UnsupportedError("does not encode one text")

    def numpy_call(self) -> Call:
        """The engine's own function from one text to an array; by default its list, converted."""
        import numpy as np

        to_list = self.list_call()
        return lambda text: np.array(to_list(text), dtype=np.uint32)

    def to_array(self, ids: Any) -> NDArray[np.uint32]:
        """The result of `list_call` or `numpy_call` as an array."""
        import numpy as np

        return np.asarray(ids, dtype=np.uint32)

    def train(self, corpus: Path, vocab_size: int, pattern: str, threads: int) -> list[bytes]:
        """Trains on a text file as one document; returns the token of each merge, in order.

        vocab_size: counts our 16 special tokens, which peers do not have.
        """
        raise UnsupportedError("does not train")


class SingleTextEngine(Engine):
    """An engine that encodes one text a call: a batch is a loop on one thread."""

    form = "list"

    def __init__(self, open: Callable[[Source], Call]) -> None:
        self._open = open

    def load(self, source: Source) -> None:
        """Loads a vocabulary."""
        self._call = self._open(source)

    def encode(self, documents: Sequence[str], threads: int) -> list[Any]:
        """Encodes the documents one after the other."""
        if threads != 1:
            raise UnsupportedError("encodes one text at a time, on one thread")
        return list(map(self._call, documents))

    def list_call(self) -> Call:
        """The engine's own function from one text to a list of ids."""
        return self._call


class Trainer(Engine):
    """An engine that only trains: `train` takes the corpus, the number of ids without specials, pattern and threads."""

    def __init__(self, train: Callable[[Path, int, str, int], list[bytes]], tie_break: str | None = "rank") -> None:
        self._train = train
        self.tie_break = tie_break

    def train(self, corpus: Path, vocab_size: int, pattern: str, threads: int) -> list[bytes]:
        """Trains on a text file as one document; returns the token of each merge, in order."""
        return self._train(corpus, vocab_size - N_SPECIALS, pattern, threads)


def flatten(lists: Sequence[Any]) -> NDArray[np.uint32]:
    """Lists of ids as one array."""
    import numpy as np

    arrays = [np.asarray(ids, dtype=np.uint32) for ids in lists]
    return np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)


def encoding_name(names: dict[str, str], source: Source) -> str:
    """A peer's name of the encoding or of the pattern of `source`. Raises `UnsupportedError` if it has none."""
    for key in (source.name, source.pattern):
        if key in names:
            return names[key]
    raise UnsupportedError(f"does not know {source.name} with the pattern {source.pattern or source.regex}")
