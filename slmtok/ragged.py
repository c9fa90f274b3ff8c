"""`Ragged`: many id sequences in two flat arrays; documents are views."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, overload

from slmtok.errors import OptionError, WrongType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids


@dataclass(frozen=True, eq=False)
class Ragged:
    """The ids of n documents.

    ids: shape (total,), uint16 where n_vocab <= 65536, else uint32; read-only.
    offsets: shape (n + 1,), int64, read-only; document i is `ids[offsets[i]:offsets[i + 1]]`.
    """

    ids: Ids
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Ids: ...
    @overload
    def __getitem__(self, index: slice) -> Ragged: ...
    def __getitem__(self, index: int | slice) -> Ids | Ragged:
        """Document `index` as a view, or a run of documents as a `Ragged` over the same memory (step 1 only)."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise OptionError(
                    f"a slice of a Ragged with step {step}", limit="step 1", fix="index documents one by one instead"
                )
            offsets = self.offsets[start : max(start, stop) + 1]
            rebased = offsets - offsets[0]
            rebased.flags.writeable = False
            return Ragged(self.ids[int(offsets[0]) : int(offsets[-1])], rebased)
        try:
            index = operator.index(index)
        except TypeError:
            raise WrongType(f"a document is numbered by an int, not by {index!r}", fix="ragged[0]") from None
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"document {index} of {n}")
        index %= n
        return self.ids[int(self.offsets[index]) : int(self.offsets[index + 1])]

    def __iter__(self) -> Iterator[Ids]:
        bounds = self.offsets.tolist()
        for start, stop in pairwise(bounds):
            yield self.ids[start:stop]

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same ids in the same documents; the widths of the arrays do not matter."""
        import numpy as np

        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.ids, other.ids)

    __hash__ = None  # type: ignore[assignment]  # a hash would have to read all ids

    def __repr__(self) -> str:
        return f"Ragged({len(self)} documents, {len(self.ids)} ids, {self.ids.dtype})"

    def lengths(self) -> NDArray[np.int64]:
        """Ids of each document, shape (n,), int64."""
        import numpy as np

        return np.diff(self.offsets)

    def to_lists(self) -> list[list[int]]:
        """Python lists of int; costs 20 to 40 ns per id."""
        return [document.tolist() for document in self]
