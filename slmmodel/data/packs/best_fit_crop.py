"""`best_fit_crop`: nanochat's packing, to reproduce its runs. No padding: each row is filled from a buffer of documents
with the largest that fits, and when none fits, with the shortest, **cropped**; its rest is thrown away.

About a third of all tokens is lost at T = 2048, and which ones depends on the tokenizer: never compare two tokenizers
with it. Documents that do not fill a last row are left out.
"""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.placed_rows import Pieces, PlacedRows
from slmmodel.data.spans import ordered
from slmmodel.errors import InvalidPlan


class BestFitCrop(PlacedRows):
    """See the module."""

    name = "best_fit_crop"

    def __init__(
        self,
        pairs: NDArray[np.int64],
        context: int,
        *,
        order: NDArray[np.int64] | None = None,
        buffer: int = 1000,
        **options: Any,
    ) -> None:
        super().__init__(pairs, context, buffer=buffer, **options)
        if buffer < 1:
            raise InvalidPlan("the buffer holds at least one document", fix="buffer of 1 or more")
        docs = np.arange(len(pairs), dtype=np.int64) if order is None else order
        sizes = ordered(pairs, order)
        docs, sizes = docs[sizes > 0], sizes[sizes > 0]
        placed = _fill(sizes.tolist(), context, buffer)
        table = np.array(placed, dtype=np.int64).reshape(-1, 3)
        doc = docs[table[:, 1]]
        self._place(Pieces(doc, np.zeros(len(doc), dtype=np.int64), table[:, 2]), table[:, 0])


def _fill(sizes: list[int], context: int, buffer: int) -> list[tuple[int, int, int]]:
    """(row, document, pairs taken) of all rows that are full."""
    held: list[tuple[int, int]] = []  # (pairs, -place in plan order), ascending: among equals the earliest is last
    fed = row = 0
    out: list[tuple[int, int, int]] = []
    while True:
        room, mine = context, []
        while room:
            while fed < len(sizes) and len(held) < buffer:
                bisect.insort(held, (sizes[fed], -fed))
                fed += 1
            if not held:
                return out
            place = bisect.bisect_right(held, (room, 1)) - 1
            size, doc = held.pop(max(place, 0))
            mine.append((row, -doc, min(size, room)))
            room -= min(size, room)
        out += mine
        row += 1
