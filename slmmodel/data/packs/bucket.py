"""`bucket`: a piece a row, rows of like length together. For recurrent models and padded batches.

A pool of `100 x batch_rows` documents in plan order is sorted by length (ties: plan order); consecutive pieces form a
group of one width, a multiple of 8, with width x rows close to `batch_rows x T`. A step takes a whole group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.placed_rows import Pieces, PlacedRows, cut_pieces
from slmmodel.errors import InvalidPlan

POOL = 100
MULTIPLE = 8


class Bucket(PlacedRows):
    """See the module."""

    name = "bucket"
    grouped = True

    def __init__(
        self,
        pairs: NDArray[np.int64],
        context: int,
        *,
        order: NDArray[np.int64] | None = None,
        batch_rows: int = 32,
        long: str = "split",
    ) -> None:
        super().__init__(pairs, context, batch_rows=batch_rows, long=long)
        if batch_rows < 1:
            raise InvalidPlan("a batch has at least one row", fix="batch_rows of 1 or more")
        pieces = cut_pieces(pairs, context, order, long)
        chosen, groups = [], []
        pool = POOL * batch_rows
        for start in range(0, len(pieces.doc), pool):
            by_length = start + np.argsort(pieces.sizes[start : start + pool], kind="stable")
            chosen.append(by_length)
            groups += _groups(pieces.sizes[by_length].tolist(), context, batch_rows * context)
        picked = np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)
        self._place(Pieces(*(field[picked] for field in pieces)), np.arange(len(picked), dtype=np.int64))
        counts = np.array([rows for _, rows in groups], dtype=np.int64)
        self._group_starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        self._widths = np.array([width for width, _ in groups], dtype=np.int64)

    def width(self, row: int) -> int:
        """The width of the row's group."""
        self._check_row(row)
        return int(self._widths[np.searchsorted(self._group_starts, row, side="right") - 1])

    @property
    def n_units(self) -> int:
        """Groups."""
        return len(self._widths)

    def unit(self, index: int) -> NDArray[np.int64]:
        """The rows of a group."""
        return np.arange(self._group_starts[index], self._group_starts[index + 1], dtype=np.int64)


def _groups(sizes: list[int], context: int, slots: int) -> list[tuple[int, int]]:
    """(width, rows) of the groups of pieces that ascend in length."""
    out: list[tuple[int, int]] = []
    start = 0
    while start < len(sizes):
        stop = start + 1
        width = _width(sizes[start], context)
        while stop < len(sizes) and (stop + 1 - start) * _width(sizes[stop], context) <= slots:
            width = _width(sizes[stop], context)
            stop += 1
        out.append((width, stop - start))
        start = stop
    return out


def _width(size: int, context: int) -> int:
    return min(context, -(-size // MULTIPLE) * MULTIPLE)
