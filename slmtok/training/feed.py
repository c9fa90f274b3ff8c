"""Feeding a corpus to the engine's counter: files mapped where that can be, everything else in batches.

On the way it keeps what only the reader knows: how many records were skipped, which file each document is in, a
digest of all documents, and a small sample of the text for the report.
"""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from slmtok.corpus import ReadOptions, Skipped, Sources, check_fields, documents, engine_reader, find, read, reader_for
from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import is_plain, open_bytes
from slmtok.training.sample import CHUNK, Sample, stretches
from slmtok.training.texts import Texts, encoded, many, selected

if TYPE_CHECKING:
    from slmtok._engine import Counter, Documents
    from slmtok.aliases import Progress
    from slmtok.corpus.readers import Reader
    from slmtok.training.observed import Observed

T = TypeVar("T")
BATCH_BYTES = 4 << 20
SMALL = 1 << 20
"""A plain file below this size is read into a batch: mapping each of many small files costs more than it saves."""


Corpus: TypeAlias = "str | os.PathLike[str] | list[str | os.PathLike[str]] | Texts | Iterable[str | bytes]"
"""A path (file, folder, glob, "-"), a list or tuple of paths, or texts: `Texts(...)`, any iterator of str or bytes."""


@dataclass
class Fed:
    """What feeding saw, besides the counts."""

    sample: Sample = field(default_factory=Sample)
    skipped: Skipped = field(default_factory=Skipped)
    files: list[str] = field(default_factory=list)
    digest: int = 0
    documents: int = 0
    complete: bool = True
    """False once `max_chars` or `max_bytes` ended it."""
    starts: list[int] = field(default_factory=list)
    """Index of the first document of each file."""
    kept: Observed | None = None
    """Takes the digest and the size of every document, where somebody wants them."""

    @property
    def corpus_digest(self) -> str | None:
        """Sum modulo 2^256 of the sha256 of every document, hex; None where the corpus was cut short."""
        return f"{self.digest:064x}" if self.complete else None

    def add(self, digests: int, number: int) -> None:
        """Adds documents to the digest."""
        self.digest = (self.digest + digests) % (1 << 256)
        self.documents += number

    def place(self, document: int) -> tuple[str | None, int]:
        """(file, index in it) of a document; no file for texts."""
        if not self.starts:
            return None, document
        index = bisect_right(self.starts, document) - 1
        return self.files[index], document - self.starts[index]


def feed(
    counter: Counter, corpus: Corpus, options: ReadOptions, progress: Progress | None = None, fed: Fed | None = None
) -> Fed:
    """Counts a whole corpus, or one part after the other into the same `fed`.

    Raises what reading it raises, and `InvalidText`, `WrongType` for texts.
    """
    fed = fed or Fed()
    with ThreadPoolExecutor(1) as pool, ThreadPoolExecutor(1) as reader:
        feeder = _Feeder(counter, options, fed, pool, reader, progress)
        if isinstance(corpus, (str, os.PathLike, list, tuple)):
            feeder.paths(find(corpus, options))
        else:
            check_fields([], options)
            feeder.texts(selected(encoded(many(corpus)), options, fed.skipped))
    fed.complete = fed.complete and not fed.skipped.ended
    if fed.kept is not None:
        fed.kept.settle()
    return fed


@dataclass
class _Feeder:
    """One run over a corpus. While the engine counts, digests are made in `pool`, and `reader` reads files ahead."""

    counter: Counter
    options: ReadOptions
    fed: Fed
    pool: ThreadPoolExecutor
    reader: ThreadPoolExecutor
    progress: Progress | None
    done: int = 0
    total: int = 0

    def paths(self, files: list[str]) -> None:
        """Counts files: large plain ones mapped, small plain ones in batches, all others as streams."""
        readers = [reader_for(path, self.options) for path in files]
        sizes = [_size(path, reader) for path, reader in zip(files, readers, strict=True)]
        self.fed.files = [*self.fed.files, *files]
        if isinstance(files, Sources) and files.units is not None:
            self.part(files[0], *files.units)
            return
        if self.options.selects:
            self.texts(self._read(files), ahead=all(map(_steady, files)))
            return
        self.total = 0 if None in sizes else sum(size or 0 for size in sizes)
        small: list[str] = []
        for path, reader, size in zip(files, readers, sizes, strict=True):
            if reader.mapped == "file" and size is not None and size < SMALL:
                small.append(path)
                continue
            self.small_files(small)
            small = []
            if not self.fed.complete:
                return
            self.fed.starts.append(self.fed.documents)
            if size is None and reader.mapped == "file":
                self.stream(path)
            elif size is None and (units := engine_reader(path, self.options, unit_bytes=BATCH_BYTES)) is not None:
                self.units(units, ahead=_steady(path))
            elif size is None:
                self.texts(documents([path], self.options, self.fed.skipped), ahead=_steady(path))
            else:
                self.mapped_file(path, reader, size)
        self.small_files(small)

    def _read(self, files: list[str]) -> Iterator[bytes]:
        """The documents that the options select."""
        for number, document in enumerate(read(files, self.options, self.fed.skipped)):
            self.fed.starts.extend([number] * (document.source + 1 - len(self.fed.starts)))
            yield document.text

    def small_files(self, files: list[str]) -> None:
        """Counts files of one document each, many in one batch."""
        if self.fed.complete:
            self.fed.starts.extend(range(self.fed.documents, self.fed.documents + len(files)))
            self.texts(documents(files, self.options, self.fed.skipped), ahead=True)

    def mapped_file(self, path: str, reader: Reader, size: int) -> None:
        """Counts one plain file, which the engine maps into memory itself."""
        digest = self.pool.submit(_digest_file, path, reader, self.options, self.fed.kept)
        before, progress = self.done, self.progress
        shifted = progress and (lambda stage, done, _: progress(stage, before + done, self.total))
        self.fed.complete = self.counter.feed_file(path, document=reader.mapped or "file", progress=shifted)
        self.fed.add(*digest.result())
        self.done += size
        self._report()
        for stretch in stretches(path):
            self.fed.sample.offer(stretch)

    def part(self, path: str, first: int, end: int | None) -> None:
        """Counts some units of a file."""
        units = engine_reader(path, self.options, first=first)
        assert units is not None
        self.fed.starts.append(self.fed.documents)
        self.units(takewhile(lambda unit: end is None or unit.unit < end, units), ahead=True)

    def stream(self, path: str) -> None:
        """Counts one document that cannot be mapped, in parts."""
        with open_bytes(path) as stream:
            part = stream.read(BATCH_BYTES)
            if len(part) < BATCH_BYTES:
                self.texts([part])
                return
            digest, size = hashlib.sha256(), 0
            while part and self.fed.complete:
                hashed = self.pool.submit(digest.update, part)
                size += len(part)
                read = self.reader.submit(stream.read, BATCH_BYTES) if _steady(path) else None
                self.fed.complete = self.counter.feed_part(part)
                for start in range(0, len(part), CHUNK):
                    self.fed.sample.offer(part[start : start + CHUNK])
                self.done += len(part)
                self._report()
                hashed.result()
                part = read.result() if read is not None else stream.read(BATCH_BYTES)
        self.fed.complete = self.counter.feed_part(b"", last=True)
        self.fed.add(_noted(digest.digest(), size, self.fed.kept), 1)

    def texts(self, texts: Iterable[bytes], *, ahead: bool = False) -> None:
        """Counts documents in batches of a few MiB; `ahead`: the next one may be read in another thread meanwhile."""
        batches = _batches(texts)
        for batch in _ahead(batches, self.reader) if ahead else batches:
            digest = self.pool.submit(_digest_texts, batch, self.fed.kept)
            self.fed.complete = self.counter.feed(batch)
            self.fed.add(digest.result(), len(batch))
            for text in batch:
                self.fed.sample.offer(text)
            self.done += sum(map(len, batch))
            self._report()
            if not self.fed.complete:
                return

    def units(self, units: Iterator[Documents], *, ahead: bool) -> None:
        """Counts what the engine reads; `ahead` as for `texts`."""
        for unit in _ahead(units, self.reader) if ahead else units:
            self.fed.complete = self.counter.feed_documents(unit)
            self.fed.skipped.records += len(unit.skips)
            if self.fed.kept is not None:
                self.fed.kept.add_each(unit)
            self.fed.add(int.from_bytes(unit.digest, "big"), len(unit))
            self.fed.sample.offer_each(unit)
            self.done += unit.nbytes
            self._report()
            if not self.fed.complete:
                return

    def _report(self) -> None:
        if self.progress is not None:
            self.progress("count", self.done, self.total)


def _steady(path: str) -> bool:
    """Whether reading never waits for somebody: a thread that does could not be stopped."""
    return path != STDIN and Path(path).is_file()


def _size(path: str, reader: Reader) -> int | None:
    """Bytes of text in a file, None where only reading it would tell."""
    plain = reader.mapped is not None and is_plain(path) and Path(path).is_file()
    return Path(path).stat().st_size if plain else None


def _digest_file(path: str, reader: Reader, options: ReadOptions, kept: Observed | None) -> tuple[int, int]:
    """(sum of digests, documents) of one plain file. Whole-file documents are never held in memory."""
    with open_bytes(path) as stream:
        if reader.mapped == "file":
            digest, size = hashlib.sha256(), 0
            while block := stream.read(1 << 20):
                digest.update(block)
                size += len(block)
            return _noted(digest.digest(), size, kept), 1
        total = number = 0
        for text in reader.read(stream, path, options, Skipped()):
            total += _noted(hashlib.sha256(text).digest(), len(text), kept)
            number += 1
        return total, number


def _digest_texts(texts: list[bytes], kept: Observed | None) -> int:
    return sum(_noted(hashlib.sha256(text).digest(), len(text), kept) for text in texts)


def _noted(digest: bytes, size: int, kept: Observed | None) -> int:
    """The digest of one document as a number."""
    if kept is not None:
        kept.add(digest, size)
    return int.from_bytes(digest, "big")


def _batches(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text) + 32
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _ahead(batches: Iterator[T], reader: ThreadPoolExecutor) -> Iterator[T]:
    """The same batches, each read while the one before it is in use."""
    coming = reader.submit(next, batches, None)
    while (batch := coming.result()) is not None:
        coming = reader.submit(next, batches, None)
        yield batch
