"""`first_fit`: each piece into the first open row with room, in plan order. At most `open_rows` rows stay open; the
oldest closes when one more is needed, so that it works on streams of any length in bounded memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.placed_rows import PlacedRows, cut_pieces
from slmmodel.errors import InvalidPlan


class FirstFit(PlacedRows):
    """See the module."""

    name = "first_fit"

    def __init__(
        self,
        pairs: NDArray[np.int64],
        context: int,
        *,
        order: NDArray[np.int64] | None = None,
        open_rows: int = 256,
        long: str = "split",
    ) -> None:
        super().__init__(pairs, context, open_rows=open_rows, long=long)
        if open_rows < 1:
            raise InvalidPlan("at least one row has to be open", fix="open_rows of 1 or more")
        pieces = cut_pieces(pairs, context, order, long)
        self._place(pieces, _rows(pieces.sizes, context, open_rows))


def _rows(sizes: NDArray[np.int64], context: int, open_rows: int) -> NDArray[np.int64]:
    """The row of each piece. The room of open rows lies in an array, oldest first; full ones leave it."""
    out = np.empty(len(sizes), dtype=np.int64)
    numbers = np.zeros(open_rows, dtype=np.int64)
    room = np.zeros(open_rows, dtype=np.int64)
    used = n_rows = 0
    for index, size in enumerate(sizes.tolist()):
        fits = room[:used] >= size
        place = int(fits.argmax()) if used else 0
        if not used or not fits[place]:
            if used == open_rows:
                used = _close(numbers, room, 0, used)
            place, used = used, used + 1
            numbers[place], room[place] = n_rows, context
            n_rows += 1
        out[index] = numbers[place]
        room[place] -= size
        if not room[place]:
            used = _close(numbers, room, place, used)
    return out


def _close(numbers: NDArray[np.int64], room: NDArray[np.int64], place: int, used: int) -> int:
    numbers[place : used - 1] = numbers[place + 1 : used].copy()
    room[place : used - 1] = room[place + 1 : used].copy()
    return used - 1
