"""Text that is tokenized during training: streams of documents that are read and encoded on demand.

The split is that of `slmtok pack`: decided on the text of each document, before tokenizing.
"""

from __future__ import annotations

import hashlib
import shlex
import threading
from bisect import bisect_left
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.cli.saved_data_sets import refuse_ids
from slmmodel.cli.text import Text
from slmmodel.data.mixture import BLOCK_BYTES, Component, DocumentStream, Mixture
from slmmodel.data.opening import RunData
from slmmodel.data.packing import Ints, prefix_sums
from slmmodel.data.source import Shard, delimiters_of
from slmmodel.errors import InvalidConfig
from slmmodel.run_entries import CONFIG
from slmmodel.sums import SUMS
from slmmodel.vocab import VocabMeta
from slmtok import corpus as corpora
from slmtok.cli.files import identified_files
from slmtok.corpus import STDIN, Batch, Position, Sources, format_of, read
from slmtok.corpus.arrow import check_columns
from slmtok.corpus.batches import START
from slmtok.corpus.text_keys import explain_keys
from slmtok.errors import MalformedRecord
from slmtok.options import ReadOptions, option_specs
from slmtok.shards.plan import source_names, sources
from slmtok.shards.split import MANY_DOCUMENTS, Split, by_lengths, measure
from slmtok.shards.writer import digest_sum

NO_VALIDATION = Split("none")
MEMORY_BATCH_BYTES = 8 << 20
READ_THREADS = 2
"""Threads that read and encode; each holds up to two batches."""
_LATER = "encoding"
"""An option newer than the digests of runs: left out of them at its default, so that older runs continue."""
_REFUSES = "max_doc_bytes"
"""An option that refuses a corpus and never changes one."""
ALL = "all"
"""The split of a corpus that has no validation documents."""


class Corpus:
    """Documents of files, folders, parquet, Hugging Face data sets (`hf:NAME`) and stdin, or in memory."""

    name: str
    """Its paths; empty for documents in memory."""

    def __init__(
        self, text: Text, paths: list[str], options: ReadOptions | None = None, *, texts: list[bytes] | None = None
    ) -> None:
        """`texts`: documents in memory instead of `paths`. Raises what finding the files raises, and
        `OptionError` for files of slmtok and runs.

        Documents of stdin are kept in memory: it can be read only once.
        """
        self.text, self.options, self._texts = text, options or ReadOptions(), texts
        self.is_uncut = False
        """Whether `split` has found that the separator occurs nowhere."""
        self.paths, self.name = paths, ", ".join(paths)
        for path in paths:
            refuse_ids(path)
        self.sources = Sources(identified_files(paths, self.options)) if texts is None else Sources()
        if parquet := [path for path in self.sources if format_of(path, self.options).name == "parquet"]:
            check_columns(parquet, self.options)
        if STDIN in self.sources:
            self._texts = [document.text for document in read(self.sources, self.options, whole=True)]

    @property
    def in_memory(self) -> bool:
        """Whether the documents were given in memory or by stdin."""
        return self._texts is not None

    def batches(self, start: Position = START, *, cut: int | None = None, encode: bool = False) -> Batches:
        """The batches of documents from a position on, with ids and offsets where `encode` is set.

        cut: the byte at which a corpus of one document is cut in two.
        """
        encoder = self.text.tokenizer._encoder if encode else None
        if self._texts is not None:
            return self._batches_in_memory(start.record, cut, encoder)
        corpus = corpora.Corpus(self.sources, self.options, whole=True, cut=cut)
        return self._batches(corpus.batches(start, threads=0 if corpus.blocks else READ_THREADS, encoder=encoder))

    def _batches(self, batches: Any) -> Batches:
        try:
            with closing(batches):
                yield from batches
        except MalformedRecord as error:
            explain_keys(error, self.sources, self.options)
            if error.fields.get("is_pair"):
                error.fix = _line_of_pairs(self.sources[0], self.text.name)
            raise

    def _batches_in_memory(self, first: int, cut: int | None, encoder: Any) -> Batches:
        from slmtok._engine import Documents

        texts = self._texts or []
        texts = texts if cut is None else [texts[0][:cut], texts[0][cut:]]
        while first < len(texts):
            last, size = first, 0
            while last < len(texts) and size < MEMORY_BATCH_BYTES:
                size, last = size + len(texts[last]), last + 1
            batch = Batch(Documents(texts[first:last]), last - first, ((0, Position(0, first)),))
            yield batch, None if encoder is None else encoder.encode_documents(batch.texts, threads=1)
            first = last

    def split(self, val: str) -> Split:
        """The split of `slmtok pack --val auto`, or none. Raises `InvalidConfig` for a corpus without documents."""
        if val == "none" and self.options.separator is None:
            return NO_VALIDATION
        with closing(self.batches()) as batches:
            seen = measure((batch for batch, _ in batches), max_docs=None, max_bytes=None, enough=MANY_DOCUMENTS)
        self.is_uncut = self.options.separator is not None and 0 < len(seen.sizes) <= len(self.sources)
        if val == "none":
            return NO_VALIDATION
        if not seen.sizes:
            raise InvalidConfig("the corpus has no document", where=self.name, fix="name files with text in them")
        return by_lengths("auto", seen, ids_limited=False)

    def identity(self) -> list[object]:
        """What determines the documents: options, and name, size and a partial digest of each file."""
        if self._texts is not None:
            digest = hashlib.sha256()
            for text in self._texts:
                digest.update(len(text).to_bytes(8, "little") + text)
            return [digest.hexdigest()]
        options = [(name, getattr(self.options, name), spec.default) for name, _, spec in option_specs(ReadOptions)]
        kept = [each for each in options if each[0] != _REFUSES and (each[0] != _LATER or each[1] != each[2])]
        shown = ", ".join(f"{name}={value!r}" for name, value, _ in kept)
        return [sources(self.sources, source_names(self.sources)), f"ReadOptions({shown})"]


Batches = Generator[tuple[Batch, tuple[NDArray[Any], NDArray[np.int64]] | None], None, None]


class _Part(NamedTuple):
    """A batch with its ids. begins [n + 1]: training bytes before each document, and behind the last one."""

    begins: Ints
    kept: NDArray[np.bool_]
    ids: NDArray[Any]
    offsets: Ints
    nbytes: Ints

    def shard(self, first: int, last: int) -> Shard:
        """The kept ones of some documents."""
        chosen = first + np.flatnonzero(self.kept[first:last])
        return Shard(self.ids, self.offsets[chosen], self.offsets[chosen + 1], self.nbytes[chosen])


def _joined(shards: list[Shard]) -> list[Shard]:
    """The documents of all as one shard: batches find the documents of one faster than those of many."""
    if len(shards) < 2:
        return shards
    ids, starts, stops, nbytes = zip(*(shard[:4] for shard in shards), strict=True)
    begins = prefix_sums(np.array([len(each) for each in ids]))[:-1].tolist()
    starts, stops = (
        np.concatenate([each + begin for each, begin in zip(bounds, begins, strict=True)]) for bounds in (starts, stops)
    )
    return [Shard(np.concatenate(ids), starts, stops, np.concatenate(nbytes))]


class TextStream(DocumentStream):
    """One split of a corpus. Ranges that follow one another are read in one go; positions are kept, text is not."""

    def __init__(self, corpus: Corpus, vocab: VocabMeta, split: str, rule: Split) -> None:
        self.vocab, self.split, self._corpus, self._rule = vocab, split, corpus, rule
        self.delimiters = delimiters_of(vocab, stores_opening=False, stores_closing=False)
        content = [corpus.identity(), vocab.fingerprint, split, rule.to_json()]
        self.digest = hashlib.sha256(repr(content).encode()).hexdigest()
        self._marks: list[tuple[int, Position]] = [(0, START)]
        self._parts: Generator[_Part, None, None] | None = None
        self._part: _Part | None = None
        self._next: int | None = None
        self._last: tuple[tuple[int, int], list[Shard]] | None = None
        self._lock = threading.Lock()

    def between(self, start: int, stop: int) -> list[Shard]:
        """See `DocumentStream`. Raises what reading raises."""
        with self._lock:
            if self._last is None or self._last[0] != (start, self._clipped(stop)):
                shards = self._between(start, stop)
                self._last = (start, self._clipped(stop)), shards
            return self._last[1]

    def _clipped(self, stop: int) -> int:
        # Validation documents behind the training text begin at its end.
        return stop if self.n_bytes is None else min(stop, self.n_bytes + (self.split == "val"))

    def _between(self, start: int, stop: int) -> list[Shard]:
        if self._parts is None or self._next != start:
            if self._parts is not None:
                self._parts.close()
            self._parts, self._part, self._next = self._encoded(self._seek(start)), None, None
        found: list[Shard] = []
        while (part := self._part or next(self._parts, None)) is not None:
            first, last = np.searchsorted(part.begins[:-1], (start, stop)).tolist()
            found.append(part.shard(first, last))
            self._part = part if last < len(part.kept) else None
            if self._part is not None:
                break
        self._next = stop
        return _joined([shard for shard in found if len(shard.nbytes)])

    def _encoded(self, mark: tuple[int, Position]) -> Generator[_Part, None, None]:
        """The batches from a mark on with their ids; at the end, `n_bytes` is known, and from the first batch on
        `documents_digest`.
        """
        (begin, position), digest = mark, 0
        with closing(self._corpus.batches(position, cut=self._rule.cut, encode=True)) as batches:
            for batch, encoded in batches:
                assert encoded is not None
                is_validation = self._is_validation(batch)
                begins = begin + self._training_bytes(batch, is_validation)
                begin = int(begins[-1])
                self._mark(begin, batch)
                kept = is_validation if self.split == "val" else ~is_validation
                digest += digest_sum(batch.digests[kept])
                yield _Part(begins, kept, *encoded, batch.texts.sizes)
        self.n_bytes = begin
        if mark[1] == START:
            self.documents_digest = f"{digest % (1 << 256):064x}"

    def _seek(self, start: int) -> tuple[int, Position]:
        """The mark before the first document of a range; reads on from the last one without encoding."""
        begin, position = self._marks[max(bisect_left(self._marks, start, key=lambda mark: mark[0]) - 1, 0)]
        if start > begin:
            with closing(self._corpus.batches(position, cut=self._rule.cut)) as batches:
                for batch, _ in batches:
                    end = begin + int(self._training_bytes(batch, self._is_validation(batch))[-1])
                    if end >= start:
                        break
                    begin, position = end, batch.position(len(batch))
                    self._mark(begin, batch)
        return begin, position

    def _mark(self, begin: int, batch: Batch) -> None:
        if begin > self._marks[-1][0]:
            self._marks.append((begin, batch.position(len(batch))))

    def _is_validation(self, batch: Batch) -> NDArray[np.bool_]:
        """Equal documents have equal hashes, so they are on the same side."""
        # Without a rule by hash nothing needs to be hashed.
        digests = batch.digests if self._rule.ppm else np.empty((len(batch), 32), np.uint8)
        return self._rule.validation(batch, digests)

    @staticmethod
    def _training_bytes(batch: Batch, is_validation: NDArray[np.bool_]) -> Ints:
        """[n + 1]: training bytes of the batch before each document; an empty document counts as one."""
        return prefix_sums(np.where(is_validation, 0, np.maximum(batch.texts.sizes, 1)))


def _line_of_pairs(path: str, tokenizer: str | None) -> str:
    """The command that compares the minimal pairs of a file, of the run with this tokenizer."""
    folder = Path(tokenizer or "").parent
    is_run = all((folder / name).is_file() for name in (SUMS, CONFIG))
    return shlex.join(["slm", "pairs", str(folder) if is_run else "RUN", path])


def text_source(
    corpus: Corpus, vocab: VocabMeta, split: str, rule: Split, *, block_bytes: int = BLOCK_BYTES
) -> Mixture:
    """A split of one corpus in blocks, each document once in an epoch."""
    stream = TextStream(corpus, vocab, split, rule)
    return Mixture([Component(stream, corpus.name)], split, repeats=split != "val", block_bytes=block_bytes)


def corpus_data(corpus: Corpus, val: str = "auto") -> RunData:
    """Training data of a corpus. `val`: `auto` or `none`. Raises what reading raises."""
    tokenizer = corpus.text.tokenizer
    vocab_json, vocab = corpus.text.metadata()
    rule = corpus.split(val)
    train, held = (text_source(corpus, vocab, split, rule) for split in ("train", "val"))
    return RunData(train, None if val == "none" else held, vocab, tokenizer.to_bytes(), vocab_json, corpus.name)
