"""Rows that hold whole pieces of documents: cutting documents into pieces, and the plan over placed pieces.

What the fitting packs share. A document longer than a row is cut into pieces of T pairs (`split`), refused (`error`),
or left out and counted (`drop`). Storage: three numbers a piece and one a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.spans import Plan, PlanStats, Span, ordered, plan_stats, starts_of
from slmmodel.errors import DocumentTooLong, InvalidPlan

LONG = ("split", "error", "drop")


class Pieces(NamedTuple):
    """Pairs `lo` to `hi - 1` of document `doc`, a piece an entry, in plan order. All int64."""

    doc: NDArray[np.int64]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Pairs of each piece."""
        return self.hi - self.lo


def cut_pieces(pairs: NDArray[np.int64], context: int, order: NDArray[np.int64] | None, long: str) -> Pieces:
    """Pieces of at most `context` pairs of all documents that have any. Raises `DocumentTooLong`, `InvalidPlan`."""
    if long not in LONG:
        raise InvalidPlan(
            f"long documents cannot be treated by {long!r}", limit=f"ways: {', '.join(LONG)}", fix="take one"
        )
    docs = np.arange(len(pairs), dtype=np.int64) if order is None else order
    sizes = ordered(pairs, order)
    if long == "error" and len(pairs) and int(pairs.max()) > context:
        worst = int(pairs.argmax())
        raise DocumentTooLong(
            f"document {worst} has {int(pairs[worst])} pairs",
            limit=f"rows have {context}",
            fix="use long='split'",
            doc=worst,
        )
    if long == "drop":
        docs, sizes = docs[sizes <= context], sizes[sizes <= context]
    counts = -(-sizes // context)
    doc = np.repeat(docs, counts)
    lo = (np.arange(len(doc), dtype=np.int64) - np.repeat(starts_of(counts)[:-1], counts)) * context
    return Pieces(doc, lo, np.minimum(lo + context, pairs[doc]))


class PlacedRows(Plan):
    """Rows given by placed pieces: those of row `k` are `starts[k]` to `starts[k+1] - 1`, one behind the other."""

    def __init__(self, pairs: NDArray[np.int64], context: int, **options: object) -> None:
        super().__init__(pairs, context, **options)
        empty = np.empty(0, dtype=np.int64)
        self._pieces, self._starts = Pieces(empty, empty, empty), np.zeros(1, dtype=np.int64)

    def _place(self, pieces: Pieces, rows: NDArray[np.int64]) -> None:
        """Takes pieces with the row of each; within a row they keep their order."""
        by_row = np.argsort(rows, kind="stable")
        self._pieces = Pieces(*(field[by_row] for field in pieces))
        self._starts = starts_of(np.bincount(rows, minlength=0).astype(np.int64))
        self._held = starts_of(self._pieces.sizes)[self._starts]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def spans(self, row: int) -> list[Span]:
        """See `Plan`."""
        self._check_row(row)
        out: list[Span] = []
        at = 0
        for piece in range(int(self._starts[row]), int(self._starts[row + 1])):
            doc, lo, hi = (int(field[piece]) for field in self._pieces)
            out.append(Span(doc, lo, hi, at))
            at += hi - lo
        return out

    def n_targets(self, rows: NDArray[np.int64]) -> int:
        """See `Plan`."""
        rows = np.asarray(rows, dtype=np.int64)
        return int((self._held[rows + 1] - self._held[rows]).sum()) if rows.size else 0

    def stats(self) -> PlanStats:
        """See `Plan`."""
        targets, pairs = int(self._pieces.sizes.sum()), int(self.pairs.sum())
        slots = sum(self.width(row) for row in range(len(self)))
        cut = int(np.unique(self._pieces.doc[self._pieces.sizes < self.pairs[self._pieces.doc]]).size)
        least = 0 if targets < pairs else int(pairs > 0)
        return plan_stats(self, targets, targets, slots, (least, int(targets > 0)), cut, pairs - targets)
