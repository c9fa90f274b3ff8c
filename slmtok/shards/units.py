"""From a corpus to work units: runs of whole documents of about 8 MiB, each of which knows where it stood.

A `Position` is (source, record in that source). It doesn't depend on how units are cut, so a run can be resumed from
any document. Nothing here encodes, splits or writes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from slmtok.corpus import ReadOptions, Skipped, read

UNIT_BYTES = 8 << 20
UNIT_DOCS = 1 << 16


class Position(NamedTuple):
    """A place between documents: just before record `record` of source `source`, both counted from 0."""

    source: int
    record: int


START = Position(0, 0)


@dataclass(frozen=True)
class Unit:
    """Documents in the order of the corpus.

    starts: (index in the unit, position) of each document that does not follow the one before it in the same source,
    ascending. skips: for each record that was left out as malformed, the index of the document before which it was met.
    """

    documents: list[bytes]
    starts: tuple[tuple[int, Position], ...]
    skips: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.documents)

    def before(self, index: int) -> Position:
        """The place just behind document `index - 1`; for 0 that of the first document."""
        run = max(0, bisect_right(self.starts, index - 1, key=lambda start: start[0]) - 1)
        first, position = self.starts[run]
        return Position(position.source, position.record + index - first)

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


@dataclass(frozen=True)
class Corpus:
    """The sources of a corpus and how to read them.

    `max_docs` and `max_bytes` of the options are the committer's affair, which knows what was written. cut: where a
    corpus of one document is cut into two, in bytes; None leaves documents as they are.
    """

    paths: Sequence[str]
    options: ReadOptions
    cut: int | None = None

    def units(self, start: Position = START) -> Iterator[Unit]:
        """All units from `start` on. Raises what reading raises."""
        options = replace(self.options, max_docs=None, max_bytes=None)
        # A limit in characters is counted from the very first document.
        first = 0 if options.max_chars is not None else start.source
        skipped = Skipped()
        gathered, met = _Gathered(), 0
        for document in read(self.paths[first:], options, skipped, whole=True):
            position = Position(first + document.source, document.record)
            texts = [document.text] if self.cut is None else [document.text[: self.cut], document.text[self.cut :]]
            for step, text in enumerate(texts):
                place = Position(position.source, position.record + step)
                if place >= start:
                    gathered.add(text, place, skipped.records - met)
                met = skipped.records
            if gathered.full:
                yield gathered.take()
        gathered.skip(skipped.records - met)
        if gathered.documents or gathered.skips:
            yield gathered.take()

    def halved(self, unit: Unit) -> Unit:
        """A unit of one document that was read before the cut was known."""
        if self.cut is None:
            return unit
        (text,) = unit.documents
        return replace(unit, documents=[text[: self.cut], text[self.cut :]])


class _Gathered:
    """The unit in the making."""

    def __init__(self) -> None:
        self.documents: list[bytes] = []
        self.starts: list[tuple[int, Position]] = []
        self.skips: list[int] = []
        self.size = 0
        self.expected = Position(-1, 0)

    def add(self, document: bytes, position: Position, skipped: int) -> None:
        self.skip(skipped)
        if not self.starts or position != self.expected:
            self.starts.append((len(self.documents), position))
        self.expected = Position(position.source, position.record + 1)
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
