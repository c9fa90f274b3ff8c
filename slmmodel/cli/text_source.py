"""Text that is tokenized during training: a token source whose blocks are read and encoded on demand.

A block is about 64 MiB of consecutive documents and depends on the corpus only. The split is that of `slmtok pack`:
decided on the text of each document, before tokenizing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np

from slmmodel.cli.text import Text
from slmmodel.data.opening import RunData
from slmmodel.data.source import Delimiters, DocumentBlock, NoSuchBlockError, Shard, TokenSource, delimiters_of
from slmmodel.errors import InvalidConfig
from slmmodel.vocab import VocabMeta
from slmtok.corpus import STDIN, Position, find, read
from slmtok.corpus.batches import START
from slmtok.options import ReadOptions, option_specs
from slmtok.shards.format import vocabulary_metadata
from slmtok.shards.plan import source_names, sources
from slmtok.shards.split import MANY_DOCUMENTS, Lengths, Split, by_lengths
from slmtok.vocabulary import render_metadata

BLOCK_BYTES = 64 << 20
NO_VALIDATION = Split("none")
_LATER = "encoding"
"""An option newer than the digests of runs: left out of them at its default, so that older runs continue."""
_REFUSES = "max_doc_bytes"
"""An option that refuses a corpus and never changes one."""
ALL = "all"
"""The split of a corpus that has no validation documents."""


class Corpus:
    """Documents of files, folders, parquet, Hugging Face data sets (`hf:NAME`) and stdin, and their ids."""

    name: str
    """Its paths; empty for documents in memory."""

    def __init__(self, text: Text, paths: list[str], options: ReadOptions | None = None) -> None:
        """Raises what finding the files raises. Documents of stdin are kept in memory: it can be read only once."""
        self.text, self.options = text, options or ReadOptions()
        self.name = ", ".join(paths)
        self.sources = list(find(paths, self.options))
        self._kept = list(self._read(START)) if STDIN in self.sources else None

    def documents(self, start: Position = START) -> Iterator[tuple[Position, bytes]]:
        """Each document from a position on, with its own."""
        for position, text in self._read(start) if self._kept is None else self._kept:
            if position >= start:
                yield position, text

    def _read(self, start: Position) -> Iterator[tuple[Position, bytes]]:
        # Limits on the corpus count from its first document on.
        first = 0 if self.options.is_selective else start.source
        for document in read(self.sources[first:], self.options, whole=True):
            yield Position(first + document.source, document.record), document.text

    def split(self, val: str) -> Split:
        """The split of `slmtok pack --val auto`, or none. Raises `InvalidConfig` for a corpus without documents."""
        if val == "none":
            return NO_VALIDATION
        seen = list(islice(self.documents(), MANY_DOCUMENTS))
        if not seen:
            raise InvalidConfig("the corpus has no document", fix="name files with text in them")
        sizes, starts = [len(text) for _, text in seen], [(index, at) for index, (at, _) in enumerate(seen)]
        return by_lengths("auto", Lengths(sizes, starts, seen[0][1] if len(seen) == 1 else None), ids_limited=False)

    def identity(self) -> list[object]:
        """What determines the documents: options, and name, size and a partial digest of each file."""
        if self._kept is not None:
            return _identity(text for _, text in self._kept)
        options = [(name, getattr(self.options, name), spec.default) for name, _, spec in option_specs(ReadOptions)]
        kept = [each for each in options if each[0] != _REFUSES and (each[0] != _LATER or each[1] != each[2])]
        shown = ", ".join(f"{name}={value!r}" for name, value, _ in kept)
        return [sources(self.sources, source_names(self.sources)), f"ReadOptions({shown})"]


class TextsCorpus(Corpus):
    """Documents in memory."""

    name = ""

    def __init__(self, text: Text, texts: list[bytes]) -> None:
        self.text, self.options, self._texts = text, ReadOptions(), texts

    def documents(self, start: Position = START) -> Iterator[tuple[Position, bytes]]:
        """See `Corpus`."""
        for index in range(start.record, len(self._texts)):
            yield Position(0, index), self._texts[index]

    def identity(self) -> list[object]:
        """A digest of the documents in their order."""
        return _identity(self._texts)


def _identity(texts: Iterable[bytes]) -> list[object]:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(len(text).to_bytes(8, "little") + text)
    return [digest.hexdigest()]


def _is_validation(rule: Split, position: Position, document: bytes) -> bool:
    """Whether a document is validation. Equal documents have equal hashes, so they are on the same side."""
    if rule.first is not None:
        return position >= rule.first
    return int.from_bytes(hashlib.sha256(document).digest()[:8], "little") % 1_000_000 < rule.ppm


class TextSource(TokenSource):
    """One split of a corpus. Block `i` begins where block `i-1` ends; positions are kept, text is not."""

    n_blocks = None
    vocab: VocabMeta
    delimiters: Delimiters
    digest = ""

    def __init__(
        self, corpus: Corpus, vocab: VocabMeta, split: str, rule: Split, *, block_bytes: int = BLOCK_BYTES
    ) -> None:
        self.vocab, self.split, self._corpus, self._rule = vocab, split, corpus, rule
        self.delimiters = delimiters_of(vocab, stores_opening=False, stores_closing=False)
        self._block_bytes = block_bytes
        self._starts = [START]
        self._ended = False
        content = [corpus.identity(), vocab.fingerprint, split, rule.to_json(), block_bytes]
        self.digest = hashlib.sha256(repr(content).encode()).hexdigest()

    def block(self, index: int) -> DocumentBlock:
        """Reads and encodes a block. Raises `NoSuchBlockError` past the last one, and what reading raises."""
        while index >= len(self._starts) and not self._ended:
            self._read(len(self._starts) - 1, None)
        if index >= len(self._starts):
            raise NoSuchBlockError(index)
        documents: list[bytes] = []
        self._read(index, documents.append)
        encoded = self._corpus.text.tokenizer.encode_batch(documents, threads=1)
        bounds = np.asarray(encoded.offsets, dtype=np.int64)
        nbytes = np.fromiter(map(len, documents), dtype=np.int64, count=len(documents))
        return DocumentBlock([Shard(encoded.ids, bounds[:-1], bounds[1:], nbytes)], self.delimiters)

    def _read(self, index: int, keep: Callable[[bytes], None] | None) -> None:
        """Reads a block and records the position of the next one."""
        size = 0
        for position, document in self._documents(self._starts[index]):
            if size >= self._block_bytes:
                if index + 1 == len(self._starts):
                    self._starts.append(position)
                return
            size += len(document)
            if keep is not None and _is_validation(self._rule, position, document) == (self.split == "val"):
                keep(document)
        self._ended = True

    def _documents(self, start: Position) -> Iterator[tuple[Position, bytes]]:
        cut = self._rule.cut
        for position, text in self._corpus.documents(start):
            parts = [text] if cut is None else [text[:cut], text[cut:]]
            for step, part in enumerate(parts):
                yield position.plus(step), part


def corpus_data(corpus: Corpus, val: str = "auto") -> RunData:
    """Training data of a corpus. `val`: `auto` or `none`. Raises what reading raises."""
    tokenizer = corpus.text.tokenizer
    vocab_json = render_metadata(vocabulary_metadata(tokenizer))
    vocab = VocabMeta.parse(vocab_json, source="the tokenizer")
    rule = corpus.split(val)
    train, held = (TextSource(corpus, vocab, split, rule) for split in ("train", "val"))
    return RunData(train, None if val == "none" else held, vocab, tokenizer.to_bytes(), vocab_json, corpus.name)
