"""Where documents come from: the interfaces of blocks and sources, and the delimiters around a document.

A source is a sequence of blocks; a block holds documents in a fixed order. Packed data are one block over memory maps;
text that is tokenized while training is many, each computed again whenever it is read. `ids` are whole documents with
opening and closing id: the frame adds what a layout does not store.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import UnsupportedShards
from slmmodel.vocab import VocabMeta


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


@runtime_checkable
class TokenSource(Protocol):
    """A sequence of blocks with a digest of everything that decides their content."""

    @property
    def n_blocks(self) -> int | None:
        """1 for packed data; None where the number is unknown: then `block` past the end raises `IndexError`."""

    @property
    def digest(self) -> str:
        """64 hexadecimal digits."""

    def block(self, index: int) -> TokenBlock:
        """A pure function: the same index gives the same block at any time, on any rank."""


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

    llama2.c stores the opening id, GPT-2 and nanoGPT the closing one. Raises `UnsupportedShards` where the vocabulary
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
        raise UnsupportedShards(
            "documents have no delimiter: the vocabulary has neither the role 'bos' nor 'eos'",
            fix="name one in the tokenizer: slmtok set-special TOK eos=SPELLING",
        )
    return Frame(opening, closing, stores_opening, stores_closing)


def framed(stored: NDArray[Any], lo: int, hi: int, total: int, frame: Frame) -> NDArray[Any]:
    """The ids `lo` to `hi - 1` of a document of `total` ids, from its stored ids."""
    hi = min(hi, total)
    shift = 0 if frame.stores_opening else 1
    inner = stored[max(0, lo - shift) : max(0, hi - shift)]
    before = [frame.opening] if shift and lo == 0 < hi else []
    after = [frame.closing] if not frame.stores_closing and lo < hi == total else []
    if not before and not after:
        return inner
    return np.concatenate([np.array(before, inner.dtype), inner, np.array(after, inner.dtype)])


class ArraySource:
    """One block in memory: for benchmarks and tests, and as the simplest implementation of both interfaces."""

    n_blocks = 1

    def __init__(self, documents: list[list[int]], nbytes: list[int], digest: str = "0" * 64) -> None:
        self._documents = [np.asarray(document, dtype=np.uint32) for document in documents]
        self._nbytes = np.asarray(nbytes, dtype=np.int64)
        self.n_docs, self.digest = len(documents), digest

    def block(self, index: int) -> ArraySource:
        """Itself, for index 0."""
        if index:
            raise IndexError(index)
        return self

    def lengths(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return np.array([len(document) for document in self._documents], dtype=np.int64)

    def nbytes(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return self._nbytes

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """See `TokenBlock`."""
        return self._documents[doc][lo:hi]
