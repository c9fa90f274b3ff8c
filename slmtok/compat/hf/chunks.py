"""Equal rows out of documents: one after the other and cut, or each cut for itself, with a least fill."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from slmtok.checks import check_int
from slmtok.errors import InvalidOption

if TYPE_CHECKING:
    from slmtok.ragged import Ragged


@dataclass(frozen=True)
class Chunks:
    """Rows of ids, none longer than asked; how many ids were left out, and whether any row is shorter."""

    rows: list[list[int]]
    dropped: int
    short: bool


def chunk_rows(ragged: Ragged, length: int, *, min_fill: float, stride: int, concatenate: bool) -> Chunks:
    """Rows of `length` ids. Raises `InvalidOption`.

    The last row of a run of ids may be shorter, and is kept if it has at least `min_fill` of the length. Ids that a row
    only repeats of the one before count neither as kept nor as left out.
    """
    length = check_int("length", length, 1)
    stride = check_int("stride", stride, 0, length - 1)
    if isinstance(min_fill, bool) or not isinstance(min_fill, (int, float)) or not 0 <= min_fill <= 1:
        raise InvalidOption(
            f"min_fill={min_fill!r} is no share of a row", limit="0 to 1", fix="min_fill=0.5", option="min_fill"
        )
    least = Fraction(min_fill) * length
    rows: list[list[int]] = []
    dropped = 0
    for ids in _runs(ragged, concatenate):
        for start in range(0, max(len(ids) - stride, 1), length - stride):
            row = ids[start : start + length]
            if len(row) >= least and row:
                rows.append(row)
            else:
                dropped += len(row) - (stride if start else 0)
    return Chunks(rows, dropped, any(len(row) < length for row in rows))


def _runs(ragged: Ragged, concatenate: bool) -> Iterable[list[int]]:
    return [ragged.ids.tolist()] if concatenate else (document.tolist() for document in ragged)
