"""From a corpus to work units: runs of whole documents of about 8 MiB, each of which knows where it stood.

A `Position` is (source, document in that source). It doesn't depend on how units are cut, so a run can be resumed
from any document. Nothing here encodes, splits or writes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from slmtok.corpus import ReadOptions, Skipped, documents

UNIT_BYTES = 8 << 20
UNIT_DOCS = 1 << 16


class Position(NamedTuple):
    """A place between documents: just before document `document` of source `source`, both counted from 0."""

    source: int
    document: int


START = Position(0, 0)


@dataclass(frozen=True)
class Unit:
    """Documents in the order of the corpus.

    starts: (index in the unit, position) of each first document of a source in it, ascending. skips: for each record
    that was left out as malformed, the index of the document before which it was met.
    """

    documents: list[bytes]
    starts: tuple[tuple[int, Position], ...]
    skips: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.documents)

    def before(self, index: int) -> Position:
        """The place just before document `index`; the end of the unit for `index == len(self)`."""
        run = max(0, bisect_right(self.starts, index - 1, key=lambda start: start[0]) - 1)
        first, position = self.starts[run]
        return Position(position.source, position.document + index - first)

    def source(self, index: int) -> int:
        """The source of document `index`."""
        return self.before(index + 1).source


@dataclass(frozen=True)
class Corpus:
    """The sources of a corpus and how to read them.

    cut: where a corpus of one document is cut into two, in bytes; None leaves documents as they are.
    """

    paths: Sequence[str]
    options: ReadOptions
    cut: int | None = None

    def units(self, start: Position = START) -> Iterator[Unit]:
        """All units from `start` on. Raises what reading raises."""
        gathered = _Gathered()
        for source in range(start.source, len(self.paths)):
            skipped = Skipped()
            first = start.document if source == start.source else 0
            met = 0
            for number, document in enumerate(self._documents(source, skipped)):
                if number < first:
                    met = skipped.records
                    continue
                gathered.add(document, Position(source, number), skipped.records - met)
                met = skipped.records
                if gathered.full:
                    yield gathered.take()
            gathered.skip(skipped.records - met)
        if gathered.documents or gathered.skips:
            yield gathered.take()

    def halved(self, unit: Unit) -> Unit:
        """A unit that was read before the cut was known."""
        if self.cut is None:
            return unit
        return replace(unit, documents=list(_halves(iter(unit.documents), self.cut)))

    def _documents(self, source: int, skipped: Skipped) -> Iterator[bytes]:
        found = documents([self.paths[source]], self.options, skipped)
        return found if self.cut is None else _halves(found, self.cut)


def _halves(found: Iterator[bytes], cut: int) -> Iterator[bytes]:
    for document in found:
        yield document[:cut]
        yield document[cut:]


class _Gathered:
    """The unit in the making."""

    def __init__(self) -> None:
        self.documents: list[bytes] = []
        self.starts: list[tuple[int, Position]] = []
        self.skips: list[int] = []
        self.size = 0

    def add(self, document: bytes, position: Position, skipped: int) -> None:
        index = len(self.documents)
        self.skip(skipped)
        if not self.starts or self.starts[-1][1].source != position.source:
            self.starts.append((index, position))
        self.documents.append(document)
        self.size += len(document)

    def skip(self, number: int) -> None:
        self.skips.extend([len(self.documents)] * number)

    @property
    def full(self) -> bool:
        return self.size >= UNIT_BYTES or len(self.documents) >= UNIT_DOCS

    def take(self) -> Unit:
        unit = Unit(self.documents, tuple(self.starts) or ((0, START),), tuple(self.skips))
        self.documents, self.starts, self.skips, self.size = [], [], [], 0
        return unit
