"""Reading lines of ids in bounded blocks, so that a line of any length costs its ids and no list of words.

A word is an id, or `id:start:end` as `slmtok encode --offsets` writes it: ASCII digits, with start <= end. A block of
nothing but such words is turned into an array at once; any other is read word by word, to say which one is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from slmtok.errors import MalformedRecord, UnknownId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 1 << 18
"""Bytes that are read at a time."""
_DIGITS = b"0123456789"
_LONG = re.compile(rb"[0-9]{19}")
"""A number that may not fit into 64 bits."""
_WORD = re.compile(rb"([0-9]+)(?::([0-9]+):([0-9]+))?")
_LONGEST = 2 * BLOCK
"""Bytes without a white space that no word has: whatever this is, it is not gathered."""
_LARGEST, _U32 = (1 << 63) - 1, (1 << 32) - 1


def lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, NDArray[Any]]]:
    """(number of the line from 1, its ids) of each line. Raises `MalformedRecord`, `UnknownId`."""
    line = _Line(name, 1)
    open_line = False
    carried = b""
    while block := stream.read(BLOCK):
        *ended, rest = (carried + block).split(b"\n")
        for text in ended:
            line.add(text)
            yield line.number, line.ids()
            line = _Line(name, line.number + 1)
            open_line = False
        whole = _whole_words(rest) if len(rest) < _LONGEST else len(rest)
        line.add(rest[:whole])
        carried = rest[whole:]
        open_line = open_line or bool(rest)
    line.add(carried)
    if open_line:
        yield line.number, line.ids()


def _whole_words(text: bytes) -> int:
    """How many bytes of `text` end with a white space, so that no word is cut."""
    return 1 + max(text.rfind(space) for space in (b" ", b"\t", b"\r", b"\x0b", b"\x0c"))


class _Line:
    """The ids of one line so far, in the narrowest of two types."""

    def __init__(self, name: str, number: int) -> None:
        self.number = number
        self._where = f"{name}, line {number:,}"
        self._parts: list[NDArray[Any]] = []
        self._words = 0

    def add(self, text: bytes) -> None:
        """Appends the ids of whole words."""
        import numpy as np

        ids = _numbers(text)
        if ids is None:
            ids = np.array([self._one(word, index) for index, word in enumerate(text.split(), self._words)], np.int64)
        if len(ids):
            self._parts.append(ids.astype(np.uint32 if ids.max() <= _U32 else np.int64))
            self._words += len(ids)

    def ids(self) -> NDArray[Any]:
        """All ids of the line."""
        import numpy as np

        if len(self._parts) == 1:
            return self._parts[0]
        return np.concatenate(self._parts) if self._parts else np.empty(0, np.uint32)

    def _one(self, word: bytes, index: int) -> int:
        """The id of a word, the `index`-th of the line from 0."""
        match = _WORD.fullmatch(word)
        if match is None or len(word) >= _LONGEST or (match[2] is not None and _above(match[2], match[3])):
            text = word[:24].decode("utf-8", "backslashreplace")
            raise MalformedRecord(
                f"{text!r} is not an id" + ("" if match is None else ": it ends before it starts"),
                where=f"{self._where}, word {index + 1}",
                limit="ASCII digits, or id:start:end with start <= end",
                fix="ids are whole numbers with spaces between, one document a line, as slmtok encode writes them",
            )
        digits = match[1].lstrip(b"0") or b"0"
        if len(digits) > 19 or int(digits) > _LARGEST:
            from slmtok.id_arrays import UNKNOWN_ID_FIX

            shown = digits.decode() if len(digits) <= 40 else f"{digits[:40].decode()}…"
            raise UnknownId(
                f"id {shown} is not in the vocabulary",
                where=f"{self._where}, position {index}",
                fix=UNKNOWN_ID_FIX,
                id=int(digits) if len(digits) <= 40 else shown,
            )
        return int(digits)


def _above(start: bytes, end: bytes) -> bool:
    """Whether the number `start` is above `end`, of however many digits."""
    start, end = start.lstrip(b"0"), end.lstrip(b"0")
    return (len(start), start) > (len(end), end)


def _numbers(text: bytes) -> NDArray[np.int64] | None:
    """The ids of a block, or None where a word needs a closer look."""
    import numpy as np

    text = text.strip()
    skeleton = text.translate(None, _DIGITS)
    if _LONG.search(text):
        return None
    if not skeleton.translate(None, b" \t\r"):
        return np.fromstring(text.decode(), np.int64, sep=" ") if text else np.empty(0, np.int64)
    n_words = (len(skeleton) + 1) // 3
    if skeleton != b" ".join([b"::"] * n_words):
        return None
    numbers = np.fromstring(text.replace(b":", b" ").decode(), np.int64, sep=" ")
    if len(numbers) != 3 * n_words:
        return None
    ids, starts, ends = numbers.reshape(-1, 3).T
    return None if (starts > ends).any() else ids
