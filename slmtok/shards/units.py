"""From a corpus to work units: runs of whole documents of about 8 MiB, each of which knows where it stood.

A `Position` is (source, record in that source). It doesn't depend on how units are cut, so a run can be resumed from
any document. Nothing here encodes, splits or writes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from slmtok._engine import Documents


class Position(NamedTuple):
    """A place between documents: just before record `record` of source `source`, both counted from 0."""

    source: int
    record: int


class Place(NamedTuple):
    """Where a unit of a file begins, as the engine tells it, and how to get there.

    offset: bytes of unpacked text before it. line: the number of its first line, counted from 1. From byte `packed` of
    the file, which is `unpacked` bytes into the text, the file can be unpacked without what is before.
    """

    offset: int
    line: int
    packed: int
    unpacked: int


class Cursor(NamedTuple):
    """A position, and a shortcut to it: unit `unit` of that source, as the engine cuts it, begins with record `first`.

    Without a shortcut (`unit` is None) the source is read from its beginning. place: where the unit begins.
    """

    position: Position
    unit: int | None = None
    first: int = 0
    place: Place | None = None


START = Cursor(Position(0, 0))


@dataclass(frozen=True)
class Unit:
    """Documents in the order of the corpus, `size` of them; None where they were encoded elsewhere.

    starts: (index in the unit, position) of each document that does not follow the one before it in the same source,
    ascending. skips: for each record that was left out as malformed, the index of the document before which it was met.
    number: of the unit in its source, where the engine cut it, and `opens` the record that it begins with there.
    begin, behind: where it and what follows it begin in that file.
    dropped: documents that stood before these and do not count, since an earlier run has written them.
    """

    documents: Documents | None
    size: int
    starts: tuple[tuple[int, Position], ...]
    skips: tuple[int, ...] = ()
    number: int | None = None
    opens: int = 0
    begin: Place | None = None
    behind: Place | None = None
    dropped: int = 0

    def __len__(self) -> int:
        return self.size

    @property
    def held(self) -> Documents:
        """The documents, for those who know that they are here."""
        assert self.documents is not None
        return self.documents

    def before(self, index: int) -> Position:
        """The place just behind document `index - 1`; for 0 that of the first document."""
        run = max(0, bisect_right(self.starts, index - 1, key=lambda start: start[0]) - 1)
        first, position = self.starts[run]
        return Position(position.source, position.record + index - first)

    def cursor(self, index: int) -> Cursor:
        """The same, with a shortcut where there is one."""
        position = self.before(index)
        if self.number is None:
            return Cursor(position)
        if index == len(self):
            return Cursor(position, self.number + 1, position.record, self.behind)
        return Cursor(position, self.number, self.opens, self.begin)

    def skips_before(self, index: int) -> int:
        """Records left out that were met before document `index - 1` was."""
        return sum(met < index for met in self.skips)

    def index_of(self, position: Position) -> int:
        """The index of the first document at or behind `position`."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.before(middle + 1) <= position else (low, middle)
        return low

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """(source, first index, index behind the last) of each run of documents of one source."""
        ends = [start[0] for start in self.starts[1:]] + [len(self)]
        for (first, position), end in zip(self.starts, ends, strict=True):
            yield position.source, first, end

    def since(self, position: Position) -> Unit:
        """The documents at or behind `position`, which is in this unit or at its end; what was left out among them."""
        index = self.index_of(position)
        if index == 0:
            return self
        behind = [(first - index, place) for first, place in self.starts if first > index]
        starts = ((0, position), *behind) if not behind or behind[0][0] else tuple(behind)
        return replace(
            self,
            documents=self.held.select(range(index, len(self))),
            size=len(self) - index,
            starts=starts,
            skips=tuple(met - index for met in self.skips if met >= index),
            dropped=index,
        )
