"""`best_fit`: pieces by descending length (ties: plan order), each into the row with the least sufficient room (ties:
the lowest row), else into a new one; in chunks of 65,536 documents. Little padding, and short documents are never cut.

One list of rows for each remaining room, and a bit set that says which lists are not empty: O(n log T).
"""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.placed_rows import Pieces, PlacedRows, cut_pieces
from slmmodel.errors import InvalidPlan


class BestFit(PlacedRows):
    """See the module."""

    name = "best_fit"

    def __init__(
        self,
        pairs: NDArray[np.int64],
        context: int,
        *,
        order: NDArray[np.int64] | None = None,
        chunk: int = 65_536,
        long: str = "split",
    ) -> None:
        super().__init__(pairs, context, chunk=chunk, long=long)
        if chunk < 1:
            raise InvalidPlan("a chunk has at least one document", fix="chunk of 1 or more")
        pieces = cut_pieces(pairs, context, order, long)
        # Pieces of one document are neighbours, so a chunk of documents is a range of pieces.
        new_doc = np.flatnonzero(np.r_[True, pieces.doc[1:] != pieces.doc[:-1]]) if len(pieces.doc) else pieces.doc
        borders = [*new_doc[::chunk].tolist(), len(pieces.doc)]
        taken: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        rows: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        n_rows = 0
        for start, stop in pairwise(borders):
            by_length = start + np.argsort(-pieces.sizes[start:stop], kind="stable")
            placed, n_rows = _fit(pieces.sizes[by_length].tolist(), context, n_rows)
            taken.append(by_length)
            rows.append(np.array(placed, dtype=np.int64))
        chosen = np.concatenate(taken)
        self._place(Pieces(*(field[chosen] for field in pieces)), np.concatenate(rows))


def _fit(sizes: list[int], context: int, n_rows: int) -> tuple[list[int], int]:
    """The row of each piece, from `n_rows` on, and how many rows there are then."""
    by_room: list[list[int]] = [[] for _ in range(context + 1)]
    rooms = 0
    placed: list[int] = []
    for size in sizes:
        sufficient = rooms >> size
        if sufficient:
            room = size + (sufficient & -sufficient).bit_length() - 1
            row = heapq.heappop(by_room[room])
            if not by_room[room]:
                rooms ^= 1 << room
        else:
            row, room, n_rows = n_rows, context, n_rows + 1
        placed.append(row)
        if room > size:
            heapq.heappush(by_room[room - size], row)
            rooms |= 1 << (room - size)
    return placed, n_rows
