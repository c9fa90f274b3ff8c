"""What an engine must be able to do, and the refusals of those that cannot.

`load` is timed apart from encoding. A batch is whatever the engine likes best (array, list, an object); `ids` turns it
into one flat uint32 array, untimed, for the comparison. `form` names what the batch is, since lists and arrays are
never compared without saying so. Ids are those of the rank file: 0 is its first token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.source import Source


class UnsupportedError(Exception):
    """This engine has no such thing: it is left out of the table, with the reason."""


class Engine:
    """One tokenizer. Methods that it lacks raise `UnsupportedError`."""

    form = ""
    """What `encode` gives: "array", "list", "object"."""
    ties: str | None = "rank"
    """Which tie rule of ours its trainer follows: merges are compared within it. None: another algorithm, time only."""

    def load(self, source: Source) -> None:
        """Gets ready to encode with a vocabulary."""
        raise UnsupportedError("does not encode")

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        """Encodes all documents, specials being ordinary text."""
        raise UnsupportedError("does not encode batches")

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        """What `encode` gave, as one flat array."""
        return flat(encoded)

    def list_call(self) -> Callable[[str], Any]:
        """The engine's own call from one text to a list of ids."""
        raise UnsupportedError("does not encode one text")

    def numpy_call(self) -> Callable[[str], Any]:
        """The engine's own call from one text to an array; where it has none, its list as an array."""
        import numpy as np

        to_list = self.list_call()
        return lambda text: np.array(to_list(text), dtype=np.uint32)

    def one(self, ids: Any) -> NDArray[np.uint32]:
        """What `list_call` or `numpy_call` gave, as an array."""
        import numpy as np

        return np.asarray(ids, dtype=np.uint32)

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        """Trains on a text file, one document, and returns what each merge made. `pattern` is a name of slmtok's.

        `vocab` counts 16 specials, which peers do not have.
        """
        raise UnsupportedError("does not train")


class OneByOne(Engine):
    """An engine whose call takes one text: a batch is a loop, and has one thread."""

    form = "list"

    def encode(self, documents: Sequence[str], threads: int) -> list[Any]:
        """The documents one after the other."""
        if threads != 1:
            raise UnsupportedError("encodes one text at a time, on one thread")
        call = self.list_call()
        return [call(document) for document in documents]


def flat(lists: Sequence[Any]) -> NDArray[np.uint32]:
    """Lists of ids as one array."""
    import numpy as np

    arrays = [np.asarray(ids, dtype=np.uint32) for ids in lists]
    return np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)


def module(name: str) -> Any:
    """A peer's module, which has no types that we could rely on. Raises ImportError."""
    return import_module(name)


def text_of(corpus: Path) -> str:
    """The text of a file, line ends as they are."""
    return corpus.read_bytes().decode()


def regex_of(pattern: str) -> str:
    """The regex behind a pattern's name, for peers that take one."""
    from slmtok._engine import Pattern

    return Pattern(pattern).regex


def only(known: dict[str, str], source: Source) -> str:
    """What a peer calls the encoding, or the pattern, of `source`. Raises `UnsupportedError` where it has no name."""
    for key in (source.name, source.pattern):
        if key in known:
            return known[key]
    raise UnsupportedError(f"does not know {source.name} with the pattern {source.pattern or source.regex}")
