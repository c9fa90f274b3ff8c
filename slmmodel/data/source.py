"""Where documents come from: `TokenSource`, a tokenized data set as a sequence of `DocumentBlock`s.

A block is the documents that are read and shuffled together. Token shards are one block over memory-mapped files; text
that is tokenized during training is many, each computed again whenever it is read. Readers see whole documents:
delimiters that are not stored are added.
"""

from __future__ import annotations

import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.packing import Ints, prefix_sums
from slmmodel.errors import CorruptFile, Fix, Mismatch, MissingInput, Unreadable, UnsupportedFormat
from slmmodel.foreign_attributes import OF_BLOCKS, OF_SOURCES, explains_absent_names
from slmmodel.vocab import VocabMeta

REPACK = "pack the data again: slmtok pack CORPUS -t TOK -o DIR"
SCAN_IDS = 1 << 24
"""Ids that are read at once where a whole file is checked."""


class NoSuchBlockError(LookupError):
    """Raised by `TokenSource.block` for an index past the last block."""


class NoSuchSplitError(MissingInput):
    """Data without the split that was asked for."""


@explains_absent_names(OF_SOURCES)
class TokenSource(ABC):
    """A sequence of blocks with a digest of everything that decides their content, and what reports say of them."""

    n_blocks: int | None = 1
    """None where the number is unknown."""
    vocab: VocabMeta | None = None
    delimiters: Delimiters | None = None
    split: str | None = None
    bytes_from = "source"
    """Whether bytes of documents come from the corpus (`source`), or are summed over ids (`derived`)."""
    domain_names: tuple[str, ...] = ()
    inference = "merges"
    """How the tokenizer cut the text: `merges`, `longest`, or `dropout:P`."""
    pack_flags = ""
    """Options of `slmtok pack` that made the data, for a shell."""
    packed_from: tuple[str, ...] = ()
    """The names of the files that were packed, as the manifest records them."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """64 hexadecimal digits."""

    @property
    def documents_digest(self) -> str | None:
        """Of the documents alone, as in the manifest of packed data (docs/formats/shards.md); None where it is not
        known, as of text before it was read to its end."""
        return None

    @abstractmethod
    def block(self, index: int) -> DocumentBlock:
        """A block, the same at any time and on any rank. Raises `NoSuchBlockError` past the last block."""

    def domains(self) -> Ints | None:
        """Number of each document's domain: int64 [n_docs]; None without domains."""
        return None

    def files(self) -> list[tuple[Path, str]]:
        """The files of the source with their recorded SHA-256; none where no digests are recorded."""
        return []


def pack_again(source: TokenSource, tokenizer: str, folder: Path | None = None) -> str:
    """The command that packs the text of a source with a tokenizer: its files where they exist, and its options.

    folder: packed data that it replaces; None for a new folder.
    """
    exist = source.packed_from and all(map(os.path.exists, source.packed_from))
    text = shlex.join(source.packed_from) if exist else "CORPUS"
    output = "-o NEW" if folder is None else f"-o {shlex.quote(str(folder))} --force"
    return " ".join(["slmtok pack", text, "-t", shlex.quote(tokenizer), *filter(None, [source.pack_flags]), output])


def check_tokenizer(source: TokenSource, vocab: VocabMeta, run: Path, tokenizer: Path | None) -> None:
    """Raises `Mismatch` for documents of another tokenizer than that of a run: its vocabulary, folder and tokenizer."""
    theirs = source.vocab
    if theirs is None or theirs.fingerprint == vocab.fingerprint:
        return
    raise Mismatch(
        f"the data were made with another tokenizer than the model of {run}",
        where=str(run),
        limit=f"fingerprints: of the data {theirs.fingerprint[:16]}…, of the run {vocab.fingerprint[:16]}…",
        fix=f"pack its text again with the tokenizer of the run: {pack_again(source, str(tokenizer or 'TOK'))}",
        field="fingerprint",
    )


def blocks_of(source: TokenSource) -> Iterator[DocumentBlock]:
    """All blocks of a source, in order."""
    with suppress(NoSuchBlockError):
        for index in count():
            yield source.block(index)


class Delimiters(NamedTuple):
    """The ids that open and close a document (BOS and EOS), and which of the two are stored."""

    opening: int
    closing: int
    stores_opening: bool
    stores_closing: bool

    @property
    def name(self) -> str:
        """The stored ids: `bos_eos`, `bos`, `eos` or `none`."""
        return "_".join(["bos"] * self.stores_opening + ["eos"] * self.stores_closing) or "none"

    @property
    def added(self) -> int:
        """Ids that each document has beyond those stored."""
        return 2 - self.stores_opening - self.stores_closing


def delimiters_of(vocab: VocabMeta, *, stores_opening: bool, stores_closing: bool) -> Delimiters:
    """The delimiters of documents that store these; where one is stored, the other equals it.

    llama2.c stores the opening id, GPT-2 and nanoGPT the closing one. Raises `UnsupportedFormat` where the vocabulary
    has neither role.
    """
    bos, eos = vocab.specials.get("bos"), vocab.specials.get("eos")
    opening, closing = (eos if bos is None else bos), (bos if eos is None else eos)
    if opening is None or closing is None:
        raise UnsupportedFormat(
            "documents have no delimiter: the vocabulary has neither the role 'bos' nor 'eos'",
            fix="name one in the tokenizer: slmtok set-special TOK eos=SPELLING",
        )
    if stores_opening != stores_closing:
        opening = closing = opening if stores_opening else closing
    return Delimiters(opening, closing, stores_opening, stores_closing)


class Shard(NamedTuple):
    """Documents as one file stores them; where `starts`, `stops`, `nbytes` and `domains` [n_docs] say where the ids of
    each begin and end, its raw bytes and the number of its domain. `unscored` [n_docs]: as many inputs from its first
    on have a target that is not scored."""

    ids: NDArray[Any]
    starts: NDArray[Any]
    stops: NDArray[Any]
    nbytes: NDArray[Any]
    domains: NDArray[Any] | None = None
    unscored: NDArray[Any] | None = None


class Located(NamedTuple):
    """Where the ids of documents are stored; all but `parts` int64 [n]."""

    parts: list[tuple[NDArray[Any], Ints]]
    """(ids of a shard, the documents that it stores)"""
    starts: Ints
    lengths: Ints
    """Ids of each document, its delimiters included."""
    dtype: np.dtype[Any]
    """that holds all ids, delimiters included"""


@explains_absent_names(OF_BLOCKS)
class DocumentBlock:
    """Documents in a fixed order, numbered from 0, with the delimiters that their shards do not store."""

    def __init__(self, shards: Sequence[Shard], delimiters: Delimiters) -> None:
        self.shards, self.delimiters, self._added = shards, delimiters, delimiters.added
        *self._firsts, self.n_docs = prefix_sums(np.array([len(shard.nbytes) for shard in shards])).tolist()

    def lengths(self) -> Ints:
        """Ids of each document, its delimiters included: int64 [n_docs]."""
        counts = [(shard.stops - shard.starts).astype(np.int64) + self._added for shard in self.shards]
        return np.concatenate([np.empty(0, np.int64), *counts])

    def nbytes(self) -> Ints:
        """Raw bytes of each document: int64 [n_docs]."""
        counts = [shard.nbytes.astype(np.int64, copy=False) for shard in self.shards]
        return np.concatenate([np.empty(0, np.int64), *counts])

    def unscored(self) -> Ints | None:
        """Of each document the inputs from the first on whose target is not scored: int64 [n_docs]; None without."""
        if all(shard.unscored is None for shard in self.shards):
            return None
        counts = [
            np.zeros(len(shard.nbytes), np.int64) if shard.unscored is None else shard.unscored for shard in self.shards
        ]
        return np.concatenate(counts)

    def shard(self, number: int) -> Shard:
        """A shard whose ids are valid."""
        return self.shards[number]

    def locate(self, docs: Ints) -> Located:
        """Where the ids of these documents int64 [n] are stored."""
        numbers = np.searchsorted(self._firsts, docs, side="right") - 1
        starts, stops = np.empty_like(docs), np.empty_like(docs)
        parts: list[tuple[NDArray[Any], Ints]] = []
        for number in [0] if len(self.shards) == 1 else np.unique(numbers).tolist():
            shard, chosen = self.shard(number), np.flatnonzero(numbers == number)
            rows = docs[chosen] - self._firsts[number]
            starts[chosen], stops[chosen] = shard.starts[rows], shard.stops[rows]
            parts.append((shard.ids, chosen))
        largest = np.min_scalar_type(max(self.delimiters.opening, self.delimiters.closing))
        dtype = np.result_type(largest, *(ids.dtype for ids, _ in parts))
        return Located(parts, starts, stops - starts + self._added, dtype)

    def copy_ids(self, located: Located, starts: Ints, counts: Ints, out: NDArray[Any], places: Ints) -> None:
        """Copies the ids `starts[i]` to `starts[i] + counts[i] - 1` of each document to `out` [N], from `places[i]` on.

        All int64 [n], and within the document.
        """
        opening, closing, stores_opening, stores_closing = self.delimiters
        ends, sources = places + counts, located.starts + starts
        if not stores_closing:
            is_closed = (starts + counts == located.lengths) & (counts > 0)
            out[ends[is_closed] - 1] = closing
            ends = ends - is_closed
        if not stores_opening:
            is_opened = (starts == 0) & (counts > 0)
            out[places[is_opened]] = opening
            places, sources = places + is_opened, sources - ~is_opened
        for ids, chosen in located.parts:
            spans = (places[chosen].tolist(), ends[chosen].tolist(), sources[chosen].tolist())
            # A memoryview is sliced in half the time of an array, but copies between equal types only.
            target: Any
            stored: Any
            target, stored = (out.data, ids.data) if ids.dtype == out.dtype else (out, ids)
            for place, end, source in zip(*spans, strict=True):
                target[place:end] = stored[source : source + end - place]

    def ids_at(self, located: Located, indices: Ints) -> Ints:
        """One id of each document, that at `indices[i]`, which is within the document: int64 [n]."""
        opening, closing, stores_opening, stores_closing = self.delimiters
        is_opening = np.zeros(len(indices), bool) if stores_opening else indices == 0
        is_closing = np.zeros(len(indices), bool) if stores_closing else indices == located.lengths - 1
        sources = located.starts + indices - (not stores_opening)
        found = np.where(is_opening, opening, closing)
        is_stored = ~(is_opening | is_closing)
        for ids, chosen in located.parts:
            stored = chosen[is_stored[chosen]]
            found[stored] = ids[sources[stored]]
        return found

    def ids(self, doc: int, start: int, stop: int) -> NDArray[Any]:
        """A copy of the ids `start` to `stop - 1` of a document, fewer where it ends before: unsigned integers."""
        located = self.locate(np.array([doc]))
        count = max(0, min(stop, int(located.lengths[0])) - start)
        out = np.empty(count, located.dtype)
        self.copy_ids(located, np.array([start]), np.array([count]), out, np.array([0]))
        return out


class OneBlockSource(DocumentBlock, TokenSource):
    """A source that is its only block."""

    delimiters: Delimiters

    def block(self, index: int) -> DocumentBlock:
        """See `TokenSource`."""
        if index:
            raise NoSuchBlockError(index)
        return self


class ArraySource(OneBlockSource):
    """Documents in memory, delimiters included: for benchmarks and tests."""

    digest = "0" * 64
    delimiters: Delimiters

    def __init__(self, documents: list[list[int]], nbytes: list[int]) -> None:
        starts = prefix_sums(np.array([len(document) for document in documents], dtype=np.int64))
        ids = np.fromiter(chain.from_iterable(documents), dtype=np.uint32, count=int(starts[-1]))
        shard = Shard(ids, starts[:-1], starts[1:], np.array(nbytes, dtype=np.int64))
        super().__init__([shard], Delimiters(0, 0, stores_opening=True, stores_closing=True))


# What the readers of both kinds of files share.


def corrupt(path: Path, fact: str, fix: Fix = REPACK, limit: str | None = None) -> CorruptFile:
    """The error for a damaged file; `fact` continues a sentence that begins with its name."""
    return CorruptFile(f"{path.name} {fact}", where=str(path), limit=limit, fix=fix, path=str(path))


def unreadable(path: Path, error: OSError, fix: str = REPACK) -> MissingInput | Unreadable:
    """The error for a file that does not exist or cannot be read: that of `error`, or `path` where it names none."""
    path = Path(error.filename or path)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return MissingInput(f"cannot read {path.name}: {error.strerror}", where=str(path), fix=fix)
    fact = f"cannot read {path.name}: {error.strerror or error}"
    return Unreadable(fact, where=str(path), fix="check the disk and the permissions of the file", path=str(path))


def wrong_version(path: Path, found: object, known: int) -> UnsupportedFormat:
    """The error for a file of an unknown version."""
    return UnsupportedFormat(
        f"{path.name} has version {found!r}",
        where=str(path),
        limit=f"this package reads version {known}",
        fix="update slmtok, or write the data again",
    )


def map_array(path: Path, dtype: str, count: int, offset: int = 0, fix: str = REPACK) -> NDArray[Any]:
    """`count` numbers of a file from byte `offset` on, memory-mapped.

    Raises `OSError`, and `CorruptFile` unless the file ends there.
    """
    size = path.stat().st_size
    expected = offset + count * np.dtype(dtype).itemsize
    if size != expected:
        raise corrupt(path, f"has {size:,} bytes, expected {expected:,} for {count:,} numbers", fix)
    if not count:
        return np.empty(0, dtype)
    # A plain array over the map: slicing `np.memmap` itself costs several times as much.
    try:
        return np.asarray(np.memmap(path, dtype, "r", offset, (count,)))
    except ValueError:
        raise corrupt(path, f"became too short for {count:,} numbers while it was opened", fix) from None


def check_ids(path: Path, ids: NDArray[Any], n_vocab: int, fix: str = REPACK) -> None:
    """Raises `CorruptFile` for the first id that is not in the vocabulary."""
    for start in range(0, len(ids), SCAN_IDS):
        chunk = ids[start : start + SCAN_IDS]
        if int(chunk.max()) >= n_vocab or int(chunk.min()) < 0:
            index = start + int(((chunk >= n_vocab) | (chunk < 0)).argmax())
            raise corrupt(path, f"holds id {int(ids[index])} at {index}; n_vocab is {n_vocab}", fix)
