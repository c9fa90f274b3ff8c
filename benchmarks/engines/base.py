"""What an engine must be able to do, and the refusals of those that cannot.

`load` is timed apart from `encode`. An encoding is whatever the engine likes best (array, list, an object);
`ids` turns it into one flat uint32 array, untimed, for the comparison. `form` names what `encode` gave, since lists and
arrays are never compared without saying so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class UnsupportedError(Exception):
    """This engine has no such thing: it is left out of the table, with the reason."""


class Engine:
    """One peer. Methods that it lacks raise `UnsupportedError`."""

    package = ""
    """Name on the package index, whose version is printed."""
    form = ""
    """What `encode` gives: "array", "list", "object"."""
    ties = "rank"
    """Which tie rule of ours its trainer follows: merges are compared within it."""

    def load(self, encoding: str, ranks: Path) -> None:
        """Gets ready to encode with a public encoding of tiktoken, whose rank file is `ranks`."""
        raise UnsupportedError("does not read tiktoken's ranks")

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        """Encodes all documents, specials being ordinary text."""
        raise UnsupportedError("does not encode")

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        """What `encode` gave, as one flat array."""
        raise UnsupportedError("does not encode")

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        """Trains on a text file, one document, and returns what each merge made. `pattern` is a name of slmtok's."""
        raise UnsupportedError("does not train")


def flat(lists: Sequence[Sequence[int]]) -> NDArray[np.uint32]:
    """Lists of ids as one array."""
    import numpy as np

    arrays = [np.asarray(ids, dtype=np.uint32) for ids in lists]
    return np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)


def regex_of(pattern: str) -> str:
    """The regex behind a pattern's name, for peers that take one."""
    from slmtok._engine import Pattern

    return Pattern(pattern).regex
