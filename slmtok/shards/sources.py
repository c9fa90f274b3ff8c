"""The sources of a corpus as stretches, each of which several threads can take units from at the same time.

A file that the engine reads is a stretch of its own: it gives units numbered by their place in the file, and which
thread gets which is left open. Everything else is gathered from `slmtok.corpus.read`, one thread at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from slmtok.corpus import ReadOptions, Skipped, Sources, read
from slmtok.corpus.batching import engine_reader
from slmtok.shards.units import START, Cursor, Place, Position, Unit

if TYPE_CHECKING:
    from slmtok._engine import DocumentReader, Documents

UNIT_BYTES = 8 << 20
"""The shortcuts in journals count in these: whoever changes it raises `plan.VERSION`."""
UNIT_DOCS = 1 << 16


@dataclass(frozen=True)
class Taken:
    """A unit on its way: `order` ascends along the stretch. Where it stood is known once those before it are."""

    order: int
    documents: Documents
    starts: tuple[tuple[int, Position], ...] | None
    skips: tuple[int, ...]


class Stretch(Protocol):
    """A part of the corpus."""

    def take(self) -> Taken | None:
        """The next unit for this thread; None once there are no more. Raises what reading raises."""

    def place(self, taken: Taken) -> Unit | None:
        """The unit with its positions; called in ascending order of `taken.order`. None where nothing of it counts."""

    @property
    def at(self) -> tuple[int, int]:
        """How far reading has got: (source, bytes of it as they lie on disk)."""


class EngineStretch:
    """One file that the engine reads, from a cursor on."""

    def __init__(self, source: int, reader: DocumentReader, start: Cursor | None, end: int | None = None) -> None:
        """`end`: the first unit that is left out."""
        self._source, self._reader, self._end = source, reader, end
        self._record = start.first if start is not None else 0
        self._from = start.position if start is not None else Position(source, 0)

    def take(self) -> Taken | None:
        """See `Stretch`."""
        documents = next(self._reader, None)
        if documents is None or (self._end is not None and documents.unit >= self._end):
            return None
        return Taken(documents.unit, documents, None, tuple(documents.skips))

    def place(self, taken: Taken) -> Unit | None:
        """See `Stretch`."""
        first = Position(self._source, self._record)
        self._record += len(taken.documents)
        begin, behind = Place(*taken.documents.begin), Place(*taken.documents.behind)
        size = len(taken.documents)
        unit = Unit(taken.documents, size, ((0, first),), taken.skips, taken.order, first.record, begin, behind)
        if first >= self._from:
            return unit
        later = unit.since(self._from)
        return later if len(later) or later.skips else None

    @property
    def at(self) -> tuple[int, int]:
        """See `Stretch`."""
        return self._source, self._reader.taken


class GatheredStretch:
    """Neighbouring sources that Python reads, from a position on."""

    def __init__(self, found: Iterator[tuple[bytes, Position]], skipped: Skipped, start: Position, first: int) -> None:
        """`first`: the first of these sources."""
        self._units = _gathered(found, skipped, start)
        self._lock = threading.Lock()
        self._taken = 0
        self._at = max(first, start.source)

    def take(self) -> Taken | None:
        """See `Stretch`."""
        from slmtok._engine import Documents

        with self._lock:
            found = next(self._units, None)
            order, self._taken = self._taken, self._taken + 1
        if found is None:
            return None
        texts, starts, skips = found
        self._at = starts[-1][1].source
        return Taken(order, Documents(texts), starts, skips)

    def place(self, taken: Taken) -> Unit | None:
        """See `Stretch`."""
        assert taken.starts is not None
        return Unit(taken.documents, len(taken.documents), taken.starts, taken.skips)

    @property
    def at(self) -> tuple[int, int]:
        """See `Stretch`: sources that are read to their end."""
        return self._at, 0


@dataclass(frozen=True)
class Corpus:
    """The sources of a corpus and how to read them.

    `max_docs` and `max_bytes` of the options are the committer's affair, which knows what was written. cut: where a
    corpus of one document is cut into two, in bytes; None leaves documents as they are.
    """

    paths: Sequence[str]
    options: ReadOptions
    cut: int | None = None

    def stretches(self, start: Cursor = START) -> Iterator[Stretch]:
        """The parts of the corpus from a cursor on, opened one by one."""
        options = replace(self.options, max_docs=None, max_bytes=None)
        # A limit in characters is counted from the very first document.
        begun = 0 if options.max_chars is not None else start.position.source
        begin, end = (self.paths.units if isinstance(self.paths, Sources) else None) or (0, None)
        if options.selects or self.cut is not None:
            yield self._gathered(begun, len(self.paths), options, start.position)
            return
        for source in range(begun, len(self.paths)):
            at = start if source == start.position.source else None
            first = max((at and at.unit) or 0, begin)
            place = None if at is None else at.place
            reader = engine_reader(self.paths[source], options, first=first, start=place, unit_bytes=UNIT_BYTES)
            if reader is None:
                continue
            if begun < source:
                yield self._gathered(begun, source, options, start.position)
            begun = source + 1
            yield EngineStretch(source, reader, at, end)
        if begun < len(self.paths):
            yield self._gathered(begun, len(self.paths), options, start.position)

    def units(self, start: Cursor = START) -> Iterator[Unit]:
        """All units in order, on one thread: the slow and obvious way, and the one for standard input."""
        for stretch in self.stretches(start):
            while (taken := stretch.take()) is not None:
                unit = stretch.place(taken)
                if unit is not None:
                    yield unit

    def _gathered(self, begin: int, end: int, options: ReadOptions, start: Position) -> GatheredStretch:
        skipped = Skipped()
        return GatheredStretch(self._read(begin, end, options, skipped), skipped, start, begin)

    def _read(self, begin: int, end: int, options: ReadOptions, skipped: Skipped) -> Iterator[tuple[bytes, Position]]:
        for document in read(self.paths[begin:end], options, skipped, whole=True):
            place = Position(begin + document.source, document.record)
            if self.cut is None:
                yield document.text, place
            else:
                yield document.text[: self.cut], place
                yield document.text[self.cut :], Position(place.source, place.record + 1)


_Gathered = tuple[list[bytes], tuple[tuple[int, Position], ...], tuple[int, ...]]


def _gathered(found: Iterator[tuple[bytes, Position]], skipped: Skipped, start: Position) -> Iterator[_Gathered]:
    """Documents from `start` on in runs of about UNIT_BYTES, with their starts and skips."""
    texts: list[bytes] = []
    starts: list[tuple[int, Position]] = []
    skips: list[int] = []
    size, met, expected = 0, 0, Position(-1, 0)
    for text, place in found:
        if place < start:
            met = skipped.records
            continue
        skips.extend([len(texts)] * (skipped.records - met))
        met = skipped.records
        if not texts or place != expected:
            starts.append((len(texts), place))
        expected = Position(place.source, place.record + 1)
        texts.append(text)
        size += len(text)
        if size >= UNIT_BYTES or len(texts) >= UNIT_DOCS:
            yield texts, tuple(starts), tuple(skips)
            texts, starts, skips, size = [], [], [], 0
    skips.extend([len(texts)] * (skipped.records - met))
    if texts or skips:
        yield texts, tuple(starts) or ((0, start),), tuple(skips)
