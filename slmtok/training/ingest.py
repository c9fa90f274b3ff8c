"""Ingesting a corpus: every document goes to the engine's counter once, and everything else is learned on the way.

`CorpusStats` keeps the digest of all documents, the records that were skipped, the source of each document, and a small
sample of the text for the report. Observers receive the digest and the size of each document.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from slmtok.batching import batched
from slmtok.corpus import Corpus, Skipped, check_fields, find, format_of
from slmtok.corpus.batches import PART_BYTES
from slmtok.corpus.contents import refuse_counts
from slmtok.corpus.streams import is_mappable
from slmtok.errors import DocumentTooLarge
from slmtok.options import ReadOptions
from slmtok.training.texts import Texts, encode_texts, require_texts, select_texts

if TYPE_CHECKING:
    from slmtok._engine import Counter, Documents
    from slmtok.aliases import Progress
    from slmtok.corpus.profile import CorpusProfile
    from slmtok.training.doc_digests import DocDigests

MIN_LARGE_BYTES = 1 << 20
"""Smaller files are read in batches: threads for each of many would cost more."""
SAMPLE_BYTES = 1 << 20
SAMPLE_DOCUMENT_BYTES = 64 << 10
MAX_SAMPLE_DOCUMENTS = 1 << 16
"""Empty documents add nothing to the bytes of a sample, and take memory."""


CorpusLike: TypeAlias = "str | os.PathLike[str] | list[str | os.PathLike[str]] | Texts | Iterable[str | bytes]"
"""A path (file, folder, glob, "-"), a list or tuple of paths, or texts: `Texts(...)`, any iterator of str or bytes."""


@dataclass
class Observers:
    """Receivers of the digest and the size of each document."""

    digests: DocDigests | None = None
    profile: CorpusProfile | None = None

    def __bool__(self) -> bool:
        return self.digests is not None or self.profile is not None

    def add(self, digests: bytes, sizes: Iterable[int]) -> None:
        """Adds documents: the sha256 of each, one after another, and their sizes in bytes."""
        import numpy as np

        heads = np.frombuffer(digests, dtype=np.uint8).reshape(-1, 32)[:, :8].tobytes()
        if self.digests is not None:
            self.digests.add_heads(heads)
        if self.profile is not None:
            self.profile.add(np.asarray(sizes), np.frombuffer(heads, dtype="<u8"))

    def merge(self, other: Observers) -> None:
        """Adds the documents of another part of the corpus."""
        if self.digests is not None and other.digests is not None:
            self.digests.merge(other.digests)
        if self.profile is not None and other.profile is not None:
            self.profile.merge(other.profile)


@dataclass
class Sample:
    """An even sample of the documents, about `budget` bytes: the heads of every k-th, with k doubling on the way."""

    budget: int = SAMPLE_BYTES
    kept: list[bytes] = field(default_factory=list)
    stride: int = 1
    offered: int = 0
    size: int = 0

    def offer(self, text: bytes) -> None:
        """Adds the head of this document if it is a k-th."""
        if self.offered % self.stride == 0:
            head = bytes(text[:SAMPLE_DOCUMENT_BYTES])
            self.kept.append(head)
            self.size += len(head)
            if self.size > self.budget or len(self.kept) > MAX_SAMPLE_DOCUMENTS:
                self.kept = self.kept[::2]
                self.stride *= 2
                self.size = sum(map(len, self.kept))
        self.offered += 1

    def offer_batch(self, documents: Documents) -> None:
        """Offers all documents of a batch; only the sampled ones are copied."""
        index = 0
        while index < len(documents):
            passed = min(-self.offered % self.stride, len(documents) - index)
            self.offered += passed
            index += passed
            if index < len(documents):
                self.offer(documents[index])
                index += 1

    def offer_excerpts(self, text: bytes) -> None:
        """Offers a part of a long document, excerpt by excerpt."""
        for start in range(0, len(text), SAMPLE_DOCUMENT_BYTES):
            self.offer(text[start : start + SAMPLE_DOCUMENT_BYTES])


@dataclass
class CorpusStats:
    """What ingesting learned besides the counts."""

    sample: Sample = field(default_factory=Sample)
    skipped: Skipped = field(default_factory=Skipped)
    files: list[str] = field(default_factory=list)
    digest: int = 0
    documents: int = 0
    complete: bool = True
    """False once `max_chars` or `max_bytes` ended the corpus."""
    starts: list[int] = field(default_factory=list)
    """Index of the first document of each file."""
    observers: Observers = field(default_factory=Observers)

    @property
    def corpus_digest(self) -> str | None:
        """Sum modulo 2^256 of the sha256 of every document, hex; None where the corpus was cut short."""
        return f"{self.digest:064x}" if self.complete else None

    def add(self, documents: Documents) -> None:
        """Adds a batch that was counted."""
        if self.observers:
            self.observers.add(documents.digests, documents.sizes)
        self._add_digests(documents.digest, len(documents))
        if documents.partial or documents.continued:
            self.sample.offer_excerpts(documents.data)
        else:
            self.sample.offer_batch(documents)

    def add_file(self, path: str, digest: bytes, size: int) -> None:
        """Adds a file that is one document."""
        if self.observers:
            self.observers.add(digest, [size])
        self._add_digests(digest, 1)
        for excerpt in _excerpts(path, size):
            self.sample.offer(excerpt)

    def _add_digests(self, total: bytes, documents: int) -> None:
        self.digest = (self.digest + int.from_bytes(total, "big")) % (1 << 256)
        self.documents += documents

    def start_source(self, source: int, document: int) -> None:
        """Records that the documents of a source begin with this one."""
        self.starts.extend([document] * (source + 1 - len(self.starts)))

    def locate(self, document: int) -> tuple[str | None, int]:
        """(file, index in it) of a document; no file for texts."""
        if not self.starts:
            return None, document
        index = bisect_right(self.starts, document) - 1
        return self.files[index], document - self.starts[index]


def ingest(
    counter: Counter,
    corpus: CorpusLike,
    options: ReadOptions,
    progress: Progress | None = None,
    stats: CorpusStats | None = None,
) -> CorpusStats:
    """Counts a corpus, or one part of it after another into the same `stats`.

    Raises what reading it raises, and `InvalidText`, `WrongType` for texts.
    """
    stats = stats or CorpusStats()
    ingester = _Ingester(counter, stats, progress)
    if isinstance(corpus, (str, os.PathLike, list, tuple)):
        files = find(corpus, options)
        refuse_counts(files)
        ingester.files(files, options)
    else:
        check_fields([], options)
        for documents in _batches(select_texts(encode_texts(require_texts(corpus)), options, stats.skipped)):
            if not ingester.batch(documents):
                break
    stats.complete = stats.complete and not stats.skipped.ended
    return stats


@dataclass
class _Ingester:
    """One pass over a corpus. done, total: bytes, for progress; a total of 0 is unknown."""

    counter: Counter
    stats: CorpusStats
    progress: Progress | None
    done: int = 0
    total: int = 0

    def files(self, files: list[str], options: ReadOptions) -> None:
        """Counts files: large uncompressed ones that are one document in blocks, all others in batches."""
        sizes = [_text_size(path, options) for path in files]
        self.total = 0 if None in sizes or options.is_selective else sum(size or 0 for size in sizes)
        offset = len(self.stats.files)
        self.stats.files = [*self.stats.files, *files]
        begin = 0
        for index, (path, size) in enumerate(zip(files, sizes, strict=True)):
            if size is None or size < MIN_LARGE_BYTES or options.is_selective or not format_of(path, options).is_whole:
                continue
            self._batches(files[begin:index], options, offset + begin)
            begin = index + 1
            if not self.stats.complete:
                return
            self.stats.start_source(offset + index, self.stats.documents)
            self._large_file(path, size)
        # All of them unchanged, if none was counted in blocks: they may be a range of chunks.
        self._batches(files[begin:] if begin else files, options, offset + begin)

    def _batches(self, files: list[str], options: ReadOptions, first_source: int) -> None:
        if not files or not self.stats.complete:
            return
        corpus = Corpus(files, options, parts=True, skipped=self.stats.skipped)
        batches = corpus.batches(threads=0 if corpus.blocks else 1)
        try:
            for batch, _ in batches:
                before, counted = self.stats.documents, self.counter.documents
                try:
                    complete = self.batch(batch.texts)
                except DocumentTooLarge as error:
                    error.where = error.where or files[batch.starts[-1][1].source]
                    raise
                end = len(batch) if complete else self.counter.documents - counted
                for index, position in batch.starts:
                    if complete or index < end:
                        self.stats.start_source(first_source + position.source, before + index)
                if not complete:
                    # Records behind the last document that was counted do not belong to the corpus.
                    self.stats.skipped.records -= len(batch.skips) - batch.skips_before(end)
                    return
        finally:
            batches.close()

    def _large_file(self, path: str, size: int) -> None:
        before, progress = self.done, self.progress
        shifted = progress and (lambda stage, done, _: progress(stage, before + done, self.total))
        self.stats.complete, digest = self.counter.feed_file(path, progress=shifted)
        self.stats.add_file(path, digest, size)
        self._report(size)

    def batch(self, documents: Documents) -> bool:
        """Counts a batch. False once a limit of the counter ended the corpus."""
        self.stats.complete = self.counter.feed_documents(documents)
        self.stats.add(documents)
        self._report(documents.nbytes)
        return self.stats.complete

    def _report(self, size: int) -> None:
        self.done += size
        if self.progress is not None:
            self.progress("count", self.done, self.total)


def _text_size(path: str, options: ReadOptions) -> int | None:
    """Bytes of text in a file; None if they are unknown before it is read."""
    is_text = format_of(path, options).engine == "text" and is_mappable(path, options)
    return Path(path).stat().st_size if is_text else None


def _excerpts(path: str, size: int, number: int = 16) -> Iterator[bytes]:
    """Evenly spaced excerpts of a file."""
    with Path(path).open("rb") as file:
        for part in range(number):
            file.seek(size // number * part)
            yield file.read(SAMPLE_DOCUMENT_BYTES)


def _batches(texts: Iterable[bytes]) -> Iterator[Documents]:
    from slmtok._engine import Documents

    return map(Documents, batched(texts, PART_BYTES, lambda text: len(text) + 32))
