"""Where documents come from: the interfaces of blocks and sources, and the delimiters around a document.

A source is a sequence of blocks; a block holds documents in a fixed order. Packed data are one block over memory maps;
text that is tokenized while training is many, each computed again whenever it is read. `ids` are whole documents with
opening and closing id: the frame adds what a layout does not store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import CorruptFile, MissingInput, UnsupportedFormat
from slmmodel.vocab import VocabMeta

REPACK = "pack the data again: slmtok pack CORPUS -t TOK -o DIR"
SCAN_IDS = 1 << 24
"""Ids that are read at once where a whole file is checked."""


@runtime_checkable
class TokenBlock(Protocol):
    """Documents in a fixed order, numbered from 0."""

    @property
    def n_docs(self) -> int:
        """Number of documents."""

    def lengths(self) -> NDArray[np.int64]:
        """Ids of each document, its opening and closing id included: int64 [n_docs]."""

    def nbytes(self) -> NDArray[np.int64]:
        """Raw bytes of each document: int64 [n_docs]."""

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """The ids `lo` to `hi - 1` of a document, fewer where it ends before: unsigned integers, read-only."""


class TokenSource(ABC):
    """A sequence of blocks with a digest of everything that decides their content, and what reports say of them."""

    n_blocks: int | None = 1
    """None where the number is unknown: then `block` past the end raises `IndexError`."""
    vocab: VocabMeta | None = None
    frame: Frame | None = None
    split: str | None = None
    documents_digest: str | None = None
    """SHA-256 over the documents alone, independent of the tokenizer; None where it is not known."""
    bytes_from = "source"
    """Whether bytes of documents come from the corpus (`source`), or are summed over ids (`derived`)."""
    domain_names: tuple[str, ...] = ()

    @property
    @abstractmethod
    def digest(self) -> str:
        """64 hexadecimal digits."""

    @abstractmethod
    def block(self, index: int) -> TokenBlock:
        """A pure function: the same index gives the same block at any time, on any rank."""

    def domains(self) -> NDArray[np.int64] | None:
        """Number of each document's domain: int64 [n_docs]; None without domains."""
        return None


class SingleBlock(TokenSource):
    """A source of one block, which is the source itself."""

    def block(self, index: int) -> Any:
        """Itself, for index 0."""
        if index:
            raise IndexError(index)
        return self


def blocks_of(source: TokenSource) -> Iterator[TokenBlock]:
    """All blocks of a source, in order."""
    index = 0
    while source.n_blocks is None or index < source.n_blocks:
        try:
            block = source.block(index)
        except IndexError:
            return
        yield block
        index += 1


class Frame(NamedTuple):
    """The ids that open and close a document, and which of the two the layout stores."""

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


def frame_of(vocab: VocabMeta, *, stores_opening: bool, stores_closing: bool) -> Frame:
    """The frame of documents that store these delimiters; one that is not stored equals the other.

    llama2.c stores the opening id, GPT-2 and nanoGPT the closing one. Raises `UnsupportedFormat` where the vocabulary
    has neither role.
    """
    bos, eos = vocab.specials.get("bos"), vocab.specials.get("eos")
    if stores_opening != stores_closing:
        both = bos if stores_opening else eos
        if both is None:
            both = eos if stores_opening else bos
        bos = eos = both
    opening, closing = (bos if bos is not None else eos), (eos if eos is not None else bos)
    if opening is None or closing is None:
        raise UnsupportedFormat(
            "documents have no delimiter: the vocabulary has neither the role 'bos' nor 'eos'",
            fix="name one in the tokenizer: slmtok set-special TOK eos=SPELLING",
        )
    return Frame(opening, closing, stores_opening, stores_closing)


class FramedDocuments:
    """Documents in one array of stored ids, to which the frame adds the delimiters that are not stored."""

    def __init__(
        self, ids: NDArray[Any], starts: NDArray[Any], stops: NDArray[Any], nbytes: NDArray[Any], frame: Frame
    ) -> None:
        """`starts`, `stops` and `nbytes` [n_docs]: where the ids of each document begin and end, and its raw bytes."""
        self._ids, self._starts, self._stops, self._nbytes, self.frame = ids, starts, stops, nbytes, frame

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self._nbytes)

    def lengths(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        lengths: NDArray[np.int64] = (self._stops - self._starts).astype(np.int64) + self.frame.added
        return lengths

    def nbytes(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return self._nbytes.astype(np.int64, copy=False)

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """See `TokenBlock`."""
        start, stop, frame = int(self._starts[doc]), int(self._stops[doc]), self.frame
        if not frame.added:
            return self._ids[start + lo : min(start + hi, stop)]
        total = stop - start + frame.added
        hi = min(hi, total)
        shift = 0 if frame.stores_opening else 1
        inner = self._ids[start + max(0, lo - shift) : min(start + max(0, hi - shift), stop)]
        before = [frame.opening] if shift and lo == 0 < hi else []
        after = [frame.closing] if not frame.stores_closing and lo < hi == total else []
        if not before and not after:
            return inner
        return np.concatenate([np.array(before, inner.dtype), inner, np.array(after, inner.dtype)])


class ArraySource(SingleBlock):
    """One block in memory: for benchmarks and tests, and as the simplest implementation of both interfaces."""

    digest = "0" * 64

    def __init__(self, documents: list[list[int]], nbytes: list[int]) -> None:
        self._documents = [np.asarray(document, dtype=np.uint32) for document in documents]
        self._nbytes = np.asarray(nbytes, dtype=np.int64)
        self.n_docs = len(documents)

    def lengths(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return np.array([len(document) for document in self._documents], dtype=np.int64)

    def nbytes(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return self._nbytes

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """See `TokenBlock`."""
        return self._documents[doc][lo:hi]


# What the readers of both kinds of files share.


def corrupt(path: Path, fact: str, fix: str = REPACK) -> CorruptFile:
    """The error for a damaged file; `fact` continues a sentence that begins with its name."""
    return CorruptFile(f"{path.name} {fact}", where=str(path), fix=fix, path=str(path))


def unreadable(path: Path, error: OSError, fix: str = REPACK) -> MissingInput:
    """The error for a file that cannot be read."""
    return MissingInput(f"cannot read {path.name}: {error.strerror}", where=str(path), fix=fix)


def wrong_version(path: Path, found: object, known: int) -> UnsupportedFormat:
    """The error for a file of an unknown version."""
    return UnsupportedFormat(
        f"{path.name} has version {found!r}",
        where=str(path),
        limit=f"this package reads version {known}",
        fix="update slmtok, or write the data again",
    )


def map_array(path: Path, dtype: str, count: int, offset: int = 0, fix: str = REPACK) -> NDArray[Any]:
    """`count` numbers of a file from byte `offset` on, memory-mapped. Raises `CorruptFile` unless it ends there."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error, fix) from error
    expected = offset + count * np.dtype(dtype).itemsize
    if size != expected:
        raise corrupt(path, f"has {size:,} bytes, expected {expected:,} for {count:,} numbers", fix)
    if not count:
        return np.empty(0, dtype)
    # A plain array over the map: slicing `np.memmap` itself costs several times as much.
    return np.asarray(np.memmap(path, dtype, "r", offset, (count,)))


def check_ids(path: Path, ids: NDArray[Any], n_vocab: int, fix: str = REPACK) -> None:
    """Raises `CorruptFile` for the first id that is not in the vocabulary."""
    for start in range(0, len(ids), SCAN_IDS):
        part = ids[start : start + SCAN_IDS]
        if int(part.max()) >= n_vocab or int(part.min()) < 0:
            at = start + int(((part >= n_vocab) | (part < 0)).argmax())
            raise corrupt(path, f"holds id {int(ids[at])} at {at}; n_vocab is {n_vocab}", fix)
