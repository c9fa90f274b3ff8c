"""Where documents come from: the protocols of blocks and sources, and the frame that makes a document of stored ids.

A source is a sequence of blocks; a block holds documents in a fixed order. Packed data is one block over memory maps;
text that is tokenized on the fly is many, each made again whenever it is asked for. `ids` are whole documents,
opening and closing id included: what a layout does not store, the frame adds.
"""

from __future__ import annotations

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
        """How many documents."""

    def lengths(self) -> NDArray[np.int64]:
        """Ids of each document, its opening and closing id included: int64 [n_docs]."""

    def nbytes(self) -> NDArray[np.int64]:
        """Raw bytes of each document: int64 [n_docs]."""

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """The ids `lo` to `hi - 1` of a document, fewer where it ends before: unsigned integers, not to be written."""


@runtime_checkable
class TokenSource(Protocol):
    """A sequence of blocks with a digest of all that decides their content."""

    @property
    def n_blocks(self) -> int | None:
        """1 for packed data; None where nobody knows before the end: then `block` past it raises `IndexError`."""

    @property
    def digest(self) -> str:
        """64 hexadecimal digits."""

    def block(self, index: int) -> TokenBlock:
        """Pure: the same number gives the same block, at any time, on any rank."""


class Frame(NamedTuple):
    """Which ids open and close a document, and which of the two the layout stores."""

    opening: int
    closing: int
    stores_opening: bool
    stores_closing: bool

    @property
    def name(self) -> str:
        """`bos_eos` with two ids; `bos` where documents begin with the one delimiter, `eos` where they end with it."""
        if self.stores_opening and self.stores_closing:
            return "bos_eos"
        if self.stores_opening or self.stores_closing:
            return "bos" if self.stores_opening else "eos"
        return "none"

    @property
    def added(self) -> int:
        """Ids that each document has beyond those stored."""
        return 2 - self.stores_opening - self.stores_closing


def frame_of(vocab: VocabMeta, *, stores_opening: bool, stores_closing: bool) -> Frame:
    """The frame of documents that store these delimiters: one that is not stored is the other one (llama2.c opens,
    GPT-2 and nanoGPT close). Raises `UnsupportedShards` where the vocabulary has neither role."""
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
            fix="name one in the tokenizer: slmtok name TOK eos=SPELLING",
        )
    return Frame(opening, closing, stores_opening, stores_closing)


def framed(stored: NDArray[Any], lo: int, hi: int, total: int, frame: Frame) -> NDArray[Any]:
    """The ids `lo` to `hi - 1` of a document of `total` ids, from what is stored of it."""
    hi = min(hi, total)
    shift = 0 if frame.stores_opening else 1
    inner = stored[max(0, lo - shift) : max(0, hi - shift)]
    before = [frame.opening] if shift and lo == 0 < hi else []
    after = [frame.closing] if not frame.stores_closing and lo < hi == total else []
    if not before and not after:
        return inner
    return np.concatenate([np.array(before, inner.dtype), inner, np.array(after, inner.dtype)])


class ArraySource:
    """One block held in memory: for small data, for tests, and as the plainest source there is."""

    def __init__(self, documents: list[list[int]], nbytes: list[int], digest: str = "0" * 64) -> None:
        self._documents = [np.asarray(document, dtype=np.uint32) for document in documents]
        self._nbytes = np.asarray(nbytes, dtype=np.int64)
        self._digest = digest

    n_blocks = 1

    @property
    def digest(self) -> str:
        """As given."""
        return self._digest

    def block(self, index: int) -> ArraySource:
        """Itself."""
        if index:
            raise IndexError(index)
        return self

    @property
    def n_docs(self) -> int:
        """How many documents."""
        return len(self._documents)

    def lengths(self) -> NDArray[np.int64]:
        """Ids of each document."""
        return np.array([len(document) for document in self._documents], dtype=np.int64)

    def nbytes(self) -> NDArray[np.int64]:
        """Raw bytes of each document."""
        return self._nbytes

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """Ids of a document."""
        return self._documents[doc][lo:hi]
