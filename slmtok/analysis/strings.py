"""The strings of a text by which tokenizers are compared: words with the space before them, numbers, marks, spaces.

The split is the same for every tokenizer, so that tokenizers with different patterns are comparable. Strings are
counted once for a text and then encoded alone. Also the tokens of a vocabulary that are variants of one word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmtok.indexing import explains_indexing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.tokenizer import Tokenizer

REGEX = r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+"
CLASSES = ("words", "numbers", "marks", "white space", "no UTF-8")


@explains_indexing
@dataclass(frozen=True)
class Strings:
    """Distinct strings, sorted; their counts (int64) and the indices of their `CLASSES`."""

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
        """The number of ids of each string, encoded alone, int64 [n]."""
        return tokenizer.count_tokens(self.strings, threads=threads)

    def bytes_of_class(self, index: int) -> int:
        """The bytes of all occurrences of a class."""
        import numpy as np

        sizes = np.array([len(string) for string in self.strings], dtype=np.int64)
        return int((sizes * self.counts)[self.classes == index].sum())


def ratio(a: int, b: int) -> float:
    """a / b, 0 for b = 0."""
    return a / b if b else 0.0


class ClassCosts:
    """Sums over the strings of a text, encoded alone: `words`, those with a `single` id; `tokens`, `bytes` by class."""

    def __init__(self) -> None:
        self.words = self.single = 0
        self.tokens, self.bytes = [0] * len(CLASSES), [0] * len(CLASSES)

    def add(self, strings: Strings, lengths: NDArray[np.int64]) -> None:
        """Adds strings and their numbers of ids, int64 [strings]."""
        is_word = strings.classes == 0
        self.words += int(strings.counts[is_word].sum())
        self.single += int(strings.counts[is_word & (lengths == 1)].sum())
        for index in range(len(CLASSES)):
            self.tokens[index] += int((strings.counts * lengths)[strings.classes == index].sum())
            self.bytes[index] += strings.bytes_of_class(index)

    def bytes_per_token(self) -> dict[str, float]:
        """Bytes per token of each class in the text."""
        named = zip(CLASSES, self.bytes, self.tokens, strict=True)
        return {name: ratio(size, tokens) for name, size, tokens in named if tokens}


MAX_PART_BYTES = 128 << 20
"""Bytes of text whose distinct strings are in memory at a time."""


class Collector:
    """Counts the strings of documents, in parts of bounded size."""

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads
        self._begin()

    def _begin(self) -> None:
        from slmtok._engine import Counter, Pattern

        self._counter = Counter(Pattern(REGEX), threads=self._threads)
        self._held = 0

    def add(self, documents: Sequence[bytes]) -> tuple[Strings, ...]:
        """Adds documents; returns a part when it is complete."""
        self._counter.feed(documents)
        self._held += sum(map(len, documents))
        return (self.strings(),) if self._held >= MAX_PART_BYTES else ()

    def strings(self) -> Strings:
        """The counts since the last part; a string may occur in several parts."""
        found = Strings.of(self._counter.finish().items())
        self._begin()
        return found


def class_of(string: bytes) -> int:
    """The index in `CLASSES` of a match of `REGEX`."""
    try:
        text = string.decode()
    except UnicodeDecodeError:
        return 4
    body = text.lstrip()
    if not body:
        return 3
    if unicodedata.category(body[0])[0] in "LM":
        return 0
    return 1 if body[0].isnumeric() else 2


@explains_indexing
@dataclass(frozen=True)
class Variants:
    """words: distinct words, ignoring case and a leading space. extra: ids beyond one a word.

    largest: the words with the most tokens, and these tokens.
    """

    words: int
    extra: int
    largest: tuple[tuple[str, tuple[bytes, ...]], ...]


def variants(tokens: Iterable[bytes], show: int = 5) -> Variants:
    """The variants (`egg`, `Egg`, ` egg`) among tokens. A word has at least two characters, all letters or marks."""
    groups: dict[str, list[bytes]] = {}
    for token in tokens:
        word = _word(token)
        if word is not None:
            groups.setdefault(word, []).append(token)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return Variants(
        len(groups),
        sum(len(group) - 1 for group in groups.values()),
        tuple((word, tuple(group)) for word, group in ordered[:show] if len(group) > 1),
    )


def _word(token: bytes) -> str | None:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return None
    body = text.removeprefix(" ")
    if len(body) < 2 or not all(unicodedata.category(character)[0] in "LM" for character in body):
        return None
    return body.casefold()
