"""Pairs of all documents laid end to end, cut where one likes: the index beneath `concat`, `lanes` and `stream`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.spans import Span, ordered, starts_of


class JoinedPairs:
    """Finds the documents beneath a range of pairs. Storage: 8 bytes a document, 16 where they are shuffled."""

    def __init__(self, pairs: NDArray[np.int64], order: NDArray[np.int64] | None) -> None:
        self.order = order
        self.starts = starts_of(ordered(pairs, order))

    @property
    def total(self) -> int:
        """All pairs."""
        return int(self.starts[-1])

    def spans(self, start: int, stop: int, at: int = 0) -> list[Span]:
        """The spans of pairs `start` to `stop - 1`, in the slots from `at` on."""
        out: list[Span] = []
        # The last document that begins at or before `start` and is not empty: `right` skips those without pairs.
        index = int(np.searchsorted(self.starts, start, side="right")) - 1
        while start < stop:
            first, end = int(self.starts[index]), int(self.starts[index + 1])
            take = min(end, stop)
            if take > start:
                doc = index if self.order is None else int(self.order[index])
                out.append(Span(doc, start - first, take - first, at))
                at += take - start
                start = take
            index += 1
        return out

    def cut(self, borders: NDArray[np.int64]) -> int:
        """How many documents have one of these borders inside them."""
        inside = borders[(borders > 0) & (borders < self.total)]
        owners = np.searchsorted(self.starts, inside, side="right") - 1
        return int(np.unique(owners[self.starts[owners] < inside]).size)
