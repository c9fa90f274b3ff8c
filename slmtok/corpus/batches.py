"""A corpus in batches of whole documents of about 8 MiB, each with its position; the way of all bulk work.

Large files of text and records are cut into chunks by the engine; everything else is read in Python, one document at a
time or as columns of text, and gathered. A `DocumentPipeline` of the engine reads ahead, and encodes on several
threads, in the order of the corpus.
"""

from __future__ import annotations

import os
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from slmtok.corpus import reading
from slmtok.corpus.formats import format_of
from slmtok.corpus.paths import HUGGING_FACE, STDIN
from slmtok.corpus.reading import Sources, open_reader, read
from slmtok.corpus.selection import Skipped
from slmtok.corpus.streams import is_mappable
from slmtok.corpus.text_columns import TextColumn, join
from slmtok.errors import SlmtokError
from slmtok.files import check_unchanged, last_write
from slmtok.options import ReadOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import DocumentPipeline, DocumentReader, Documents
    from slmtok.aliases import Ids

MIN_CHUNKED_BYTES = 1 << 16
"""Smaller files are gathered with their neighbours: a batch for each of many would cost more."""
PART_BYTES = 4 << 20
"""Size of the chunks in which files are counted: small ones overlap reading and counting better."""
MAX_BATCH_DOCUMENTS = 1 << 16


class FilePosition(NamedTuple):
    """A position in a file, as the engine reports it.

    offset: decompressed bytes before it. line: its line number, from 1. compressed, uncompressed: the last point at or
    before it from which the file can be decompressed, in bytes of the file and of the text.
    """

    offset: int
    line: int
    compressed: int
    uncompressed: int


class ChunkStart(NamedTuple):
    """The start of a chunk of a file: its number, the number of its first record, and its position if known."""

    number: int
    record: int
    position: FilePosition | None = None


@dataclass(frozen=True, order=True)
class Position:
    """A position in a corpus: before record `record` of source `source`, both from 0.

    It does not depend on how the corpus is cut into batches. chunk: the chunk of the file that holds the record;
    reading resumes there, and at the start of the source without one.
    """

    source: int = 0
    record: int = 0
    chunk: ChunkStart | None = field(default=None, compare=False)

    def plus(self, records: int) -> Position:
        """The position behind this many further records of the source."""
        return Position(self.source, self.record + records)


START = Position()


@dataclass(frozen=True)
class Batch:
    """Documents in the order of the corpus, `size` of them; `documents` is None where another machine encoded them.

    starts: (index, position) of each document that does not follow its predecessor in the same source, ascending.
    skips: for each malformed record that was skipped, the number of documents of the batch before it.
    chunk, next_chunk: of a chunk of a file, or a part of one: where it begins, and where the next batch begins.
    dropped: documents before these that an earlier run has taken.
    """

    documents: Documents | None
    size: int
    starts: tuple[tuple[int, Position], ...]
    skips: tuple[int, ...] = ()
    chunk: ChunkStart | None = None
    next_chunk: ChunkStart | None = None
    dropped: int = 0

    def __len__(self) -> int:
        return self.size

    @property
    def texts(self) -> Documents:
        """The documents of a batch that holds them."""
        assert self.documents is not None
        return self.documents

    @property
    def digests(self) -> NDArray[np.uint8]:
        """The sha256 of each document, uint8[n, 32]."""
        import numpy as np

        return np.frombuffer(self.texts.digests, dtype=np.uint8).reshape(-1, 32)

    def position(self, index: int) -> Position:
        """The position behind document `index - 1`; for 0 that of the first document."""
        run = max(0, bisect_right(self.starts, index - 1, key=lambda start: start[0]) - 1)
        first, start = self.starts[run]
        found = start.plus(index - first)
        if index == len(self) and self.next_chunk is not None:
            return replace(found, chunk=self.next_chunk._replace(record=found.record))
        return replace(found, chunk=self.chunk)

    def skips_before(self, index: int) -> int:
        """Skipped records before document `index - 1`."""
        return sum(before < index for before in self.skips)

    def index_of(self, position: Position) -> int:
        """The index of the first document at or behind `position`."""
        return bisect_right(range(len(self)), position, key=lambda index: self.position(index + 1))

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """(source, first index, end index) of each run of documents of one source."""
        ends = [start[0] for start in self.starts[1:]] + [len(self)]
        for (first, position), end in zip(self.starts, ends, strict=True):
            yield position.source, first, end

    def by_source(self, values: Sequence[int]) -> NDArray[np.uint16]:
        """The value of each document, given that of each source."""
        import numpy as np

        found = np.zeros(len(self), dtype=np.uint16)
        for source, first, end in self.runs():
            found[first:end] = values[source]
        return found

    def since(self, position: Position) -> Batch:
        """The documents at or behind `position`, which lies in this batch or at its end, and the skips among them."""
        index = self.index_of(position)
        if index == 0:
            return self
        later = [(first - index, start) for first, start in self.starts if first > index]
        starts = ((0, position), *later) if not later or later[0][0] else tuple(later)
        return replace(
            self,
            documents=self.texts.select(range(index, len(self))),
            size=len(self) - index,
            starts=starts,
            skips=tuple(before - index for before in self.skips if before >= index),
            dropped=index,
        )


class _Stream(Protocol):
    """Neighbouring sources that are read together."""

    documents: DocumentReader | Iterator[Documents]
    """What the pipeline takes batches from, on any thread."""
    last_writes: Mapping[str, tuple[int, int] | None]
    """Of the files that the engine reads, taken before; `documents` in Python notices changes itself."""

    def locate(self, documents: Documents) -> Batch | None:
        """The batch with its positions; called in order. None for one that holds nothing new."""

    @property
    def progress(self) -> tuple[int, int]:
        """How far reading has got: (source, bytes of its file)."""


class _ChunkedFile:
    """One file that the engine cuts into chunks, from a position on."""

    def __init__(self, corpus: Corpus, source: int, start: Position, end: int | None) -> None:
        """`end`: the first chunk that is not read."""
        path = corpus.sources[source]
        self._source, self._start, self._skipped = source, start, corpus.skipped
        self.last_writes: Mapping[str, tuple[int, int] | None] = {path: last_write(path)}
        chunk = start.chunk
        self._record = chunk.record if chunk else 0
        # The numbers of a range of chunks count in chunks of the usual size.
        in_parts = corpus.parts and end is None and chunk is None
        self._chunk_bytes = PART_BYTES if in_parts else reading.CHUNK_BYTES
        self._reader = open_reader(
            path,
            corpus.options,
            first_chunk=chunk.number if chunk else 0,
            start=chunk.position if chunk else None,
            chunk_bytes=self._chunk_bytes,
        )
        self.documents: DocumentReader | Iterator[Documents] = self._reader
        if end is not None:
            self.documents = takewhile(lambda documents: documents.chunk < end, self._reader)

    def locate(self, documents: Documents) -> Batch | None:
        first = Position(self._source, self._record)
        size = len(documents)
        self._record += size
        skips = tuple(documents.skips)
        self._skipped.records += len(skips)
        begin, end = FilePosition(*documents.begin), FilePosition(*documents.end)
        chunk = ChunkStart(documents.chunk, first.record, begin)
        # Behind a part of a chunk, the chunk goes on.
        next_chunk = ChunkStart(end.offset // self._chunk_bytes, self._record, end)
        batch = Batch(documents, size, ((0, first),), skips, chunk, next_chunk)
        if first >= self._start:
            return batch
        if self._record < self._start.record:
            return None
        later = batch.since(self._start)
        return later if len(later) or later.skips else None

    @property
    def progress(self) -> tuple[int, int]:
        return self._source, self._reader.bytes_read


@dataclass
class _Gathered:
    """Documents that become one batch: texts and columns, with positions and skips as in `Batch`."""

    parts: list[bytes | TextColumn] = field(default_factory=list)
    size: int = 0
    nbytes: int = 0
    starts: list[tuple[int, Position]] = field(default_factory=list)
    skips: list[int] = field(default_factory=list)
    expected: Position | None = None
    """The position of a document that follows the last one."""

    def skip(self, records: int) -> None:
        """Places skipped records behind the last document, so that there are `records` of them."""
        self.skips.extend([self.size] * (records - len(self.skips)))

    def add(self, part: bytes | TextColumn, size: int, nbytes: int, position: Position) -> None:
        """Adds `size` documents that have `nbytes` bytes."""
        if position != self.expected:
            self.starts.append((self.size, position))
        self.expected = position.plus(size)
        self.parts.append(part)
        self.size += size
        self.nbytes += nbytes

    @property
    def is_full(self) -> bool:
        return self.nbytes >= reading.CHUNK_BYTES or self.size >= MAX_BATCH_DOCUMENTS


class _GatheredSources:
    """Neighbouring sources that are read in Python, by document or column, from a position on."""

    def __init__(self, corpus: Corpus, begin: int, end: int, start: Position) -> None:
        self._corpus, self._start, self._source = corpus, start, max(begin, start.source)
        self._located: deque[tuple[tuple[tuple[int, Position], ...], tuple[int, ...], Skipped]] = deque()
        self._gathered, self._skipped = _Gathered(), Skipped()
        self.last_writes: Mapping[str, tuple[int, int] | None] = {}
        self.documents: Iterator[Documents] = self._gather(begin, end)

    def _gather(self, begin: int, end: int) -> Iterator[Documents]:
        for part, position in self._read(begin, end):
            if isinstance(part, TextColumn):
                yield from self._add_column(part, position)
            elif position < self._start:
                self._skipped.records = 0
            else:
                self._gathered.skip(self._skipped.records)
                self._gathered.add(part, 1, len(part), position)
                if self._gathered.is_full:
                    yield self._batch()
        self._gathered.skip(self._skipped.records)
        self._gathered.starts = self._gathered.starts or [(0, self._start)]
        yield self._batch()

    def _add_column(self, column: TextColumn, first: Position) -> Iterator[Documents]:
        """Adds the documents of a column that are not before the start; the batches that they fill."""
        begin = 0
        if first < self._start:
            is_earlier = first.source < self._start.source
            begin = len(column) if is_earlier else min(self._start.record - first.record, len(column))
        if begin:
            self._skipped.records = 0
        while begin < len(column):
            gathered, skipped = self._gathered, self._skipped
            end = column.end(begin, reading.CHUNK_BYTES - gathered.nbytes, MAX_BATCH_DOCUMENTS - gathered.size)
            gathered.skip(skipped.records)
            inside = [before for before in column.skips if begin <= before < end]
            gathered.skips += [gathered.size + before - begin for before in inside]
            skipped.records += len(inside)
            gathered.add(column.part(begin, end), end - begin, column.nbytes(begin, end), first.plus(begin))
            if gathered.is_full:
                yield self._batch()
            begin = end
        self._skipped.records += column.skips.count(len(column))

    def _batch(self) -> Documents:
        """What is gathered, with what was skipped since the last batch."""
        gathered, self._gathered = self._gathered, _Gathered()
        self._located.append((tuple(gathered.starts), tuple(gathered.skips), self._skipped.take()))
        self._source = max(self._source, gathered.starts[-1][1].source)
        return join(gathered.parts)

    def _read(self, begin: int, end: int) -> Iterator[tuple[bytes | TextColumn, Position]]:
        """Texts and columns, each with the position of its first document."""
        corpus, cut = self._corpus, self._corpus.cut
        if cut is None and not corpus.options.is_selective:
            for source in range(begin, end):
                record = 0
                for part in reading.parts(corpus.sources[source], corpus.options, self._skipped):
                    yield part, Position(source, record)
                    record += len(part) if isinstance(part, TextColumn) else 1
            return
        for document in read(corpus.sources[begin:end], corpus.options, self._skipped, whole=corpus.whole):
            position = Position(begin + document.source, document.record)
            if cut is None:
                yield document.text, position
            else:
                yield document.text[:cut], position
                yield document.text[cut:], position.plus(1)

    def locate(self, documents: Documents) -> Batch | None:
        starts, skips, skipped = self._located.popleft()
        self._corpus.skipped.add(skipped)
        return Batch(documents, len(documents), starts, skips) if len(documents) or skips else None

    @property
    def progress(self) -> tuple[int, int]:
        return self._source, 0


@dataclass(frozen=True)
class Corpus:
    """The sources of a corpus and how to read them.

    whole: a limit on the corpus does not cut a document. cut: the byte at which a corpus of one document is cut in two.
    parts: for counting: chunks are smaller, and a document that is a compressed file or standard input comes in parts.
    skipped: updated on the way.
    """

    sources: Sequence[str]
    options: ReadOptions
    whole: bool = False
    cut: int | None = None
    parts: bool = False
    skipped: Skipped = field(default_factory=Skipped, compare=False)

    def batches(self, start: Position = START, *, threads: int = 0, **pipeline: Any) -> Batches:
        """The batches from a position on; keywords are those of the engine's `DocumentPipeline`.

        encoder: encodes the batches. threads: 0 reads, parses and encodes in the calling thread, in which Ctrl-C
        interrupts a source that blocks.
        """
        return Batches(self, start, threads=threads, **pipeline)

    @property
    def blocks(self) -> bool:
        """Whether reading may wait for another program, so that a thread that reads could not be stopped."""
        return any(
            self.options.streaming if source.startswith(HUGGING_FACE) else source == STDIN or not Path(source).is_file()
            for source in self.sources
        )

    def is_chunked(self, source: str) -> bool:
        """Whether the engine cuts this source into chunks."""
        entry = format_of(source, self.options)
        if entry.engine is None or self.options.is_selective or self.cut is not None:
            return False
        if entry.is_whole:
            return self.parts and not is_mappable(source, self.options)
        return source == STDIN or (Path(source).is_file() and Path(source).stat().st_size >= MIN_CHUNKED_BYTES)

    def streams(self, start: Position) -> Iterator[_Stream]:
        """The parts of the corpus from a position on, each opened when the one before it ends."""
        # Limits are counted from the first document on.
        limits = (self.options.max_docs, self.options.max_bytes, self.options.max_chars)
        pending = 0 if any(limit is not None for limit in limits) else start.source
        first, end = (self.sources.chunks if isinstance(self.sources, Sources) else None) or (0, None)
        for source in range(pending, len(self.sources)):
            if not self.is_chunked(self.sources[source]):
                continue
            if pending < source:
                yield _GatheredSources(self, pending, source, start)
            pending = source + 1
            begin = start if source == start.source else Position(source, 0)
            if first > (begin.chunk.number if begin.chunk else 0):
                begin = replace(begin, chunk=ChunkStart(first, 0))
            yield _ChunkedFile(self, source, begin, end)
        if pending < len(self.sources):
            yield _GatheredSources(self, pending, len(self.sources), start)


class Batches:
    """Iterates over (batch, encoded); `encoded` is ids and offsets of its documents, None without an encoder."""

    def __init__(self, corpus: Corpus, start: Position, **pipeline: Any) -> None:
        from slmtok._engine import DocumentPipeline

        self._opened: list[_Stream] = []
        self._start = start
        self._current = 0
        self._pipeline = DocumentPipeline(_documents(corpus, start, self._opened), **pipeline)
        # Its threads call Python, so they have to end before the interpreter does.
        self._finalizer = weakref.finalize(self, _stop, self._pipeline, os.getpid())

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> tuple[Batch, tuple[Ids, NDArray[np.int64]] | None]:
        try:
            for index, documents, encoded in self._pipeline:
                self._current = index
                batch = self._opened[index].locate(documents)
                if batch is None:
                    continue
                if batch.dropped and encoded is not None:
                    ids, offsets = encoded
                    first = offsets[batch.dropped]
                    encoded = ids[first:], offsets[batch.dropped :] - first
                return batch, encoded
        except SlmtokError:
            for stream in self._opened[self._current :]:
                check_unchanged(stream.last_writes)
            raise
        raise StopIteration

    @property
    def progress(self) -> tuple[int, int]:
        """How far reading has got: (source, bytes of its file)."""
        return self._opened[-1].progress if self._opened else (self._start.source, 0)

    def close(self) -> None:
        """Stops the threads; waits for their current batches. The end of the process does so too."""
        self._finalizer()


def _documents(corpus: Corpus, start: Position, opened: list[_Stream]) -> Iterator[Any]:
    for stream in corpus.streams(start):
        opened.append(stream)
        yield stream.documents


def _stop(pipeline: DocumentPipeline, process: int) -> None:
    # A forked process has none of the threads.
    if os.getpid() == process:
        pipeline.close()
