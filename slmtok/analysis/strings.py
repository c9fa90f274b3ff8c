"""The strings of a text by which tokenizers are compared: words with the space before them, numbers, marks, spaces.

A cut of our own, the same for every tokenizer, so that those with different patterns can be held side by side. Strings
are counted once for a text and then encoded alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.tokenizer import Tokenizer

REGEX = r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+"
CLASSES = ("words", "numbers", "marks", "white space", "no UTF-8")


@dataclass(frozen=True)
class Strings:
    """Distinct strings, sorted, how often each occurs (int64), and the index in `CLASSES` of each."""

    strings: tuple[bytes, ...]
    counts: NDArray[np.int64]
    classes: NDArray[np.int64]

    @staticmethod
    def of(items: Sequence[tuple[bytes, int]]) -> Strings:
        """From strings and their counts."""
        import numpy as np

        return Strings(
            tuple(string for string, _ in items),
            np.array([count for _, count in items], dtype=np.int64),
            np.array([class_of(string) for string, _ in items], dtype=np.int64),
        )

    def lengths(self, tokenizer: Tokenizer, threads: int = 0) -> NDArray[np.int64]:
        """Ids that each string takes alone, shape (n,), int64."""
        return tokenizer.count_tokens(self.strings, threads=threads)

    def bytes_of_class(self, index: int) -> int:
        """Bytes of all strings of a class, repeats included."""
        import numpy as np

        sizes = np.array([len(string) for string in self.strings], dtype=np.int64)
        return int((sizes * self.counts)[self.classes == index].sum())


PART = 128 << 20
"""Bytes of text whose different strings are held at a time: what is said of them are sums, so parts may be added."""


class Collector:
    """Counts the strings of documents, in parts of a text that may be of any size."""

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads
        self._begin()

    def _begin(self) -> None:
        from slmtok._engine import Counter, Pattern

        self._counter = Counter(Pattern(REGEX), threads=self._threads)
        self._held = 0

    def add(self, documents: Sequence[bytes]) -> tuple[Strings, ...]:
        """Takes some documents; gives a part where one is complete."""
        self._counter.feed(documents)
        self._held += sum(map(len, documents))
        return (self.strings(),) if self._held >= PART else ()

    def strings(self) -> Strings:
        """What was counted since the last part; a string may be in several parts."""
        found = Strings.of(self._counter.finish().items())
        self._begin()
        return found


def class_of(string: bytes) -> int:
    """The index in `CLASSES` of a string that `REGEX` cuts out."""
    try:
        text = string.decode()
    except UnicodeDecodeError:
        return 4
    body = text.lstrip()
    if not body:
        return 3
    if body[0].isalpha() or _is_mark(body[0]):
        return 0
    return 1 if body[0].isnumeric() else 2


def _is_mark(character: str) -> bool:
    import unicodedata

    return unicodedata.category(character)[0] in "LM"
