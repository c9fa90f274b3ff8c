"""`stream`: a window over all documents laid end to end, moved by `stride`: `1 + ceil((N-C)/stride)` windows of N
pairs. No padding but in a last row that is short. With stride 1 each pair is scored C times (less at the two ends),
with stride C exactly once.

`joined=True` is the literal text `..</s><s>..`: one document to the model, with the pair from `</s>` to `<s>` present
as input and never scored.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.joined_pairs import JoinedPairs
from slmmodel.data.spans import LossOn, Plan, PlanStats, Span, ordered, plan_stats
from slmmodel.data.windows._by_document import Ints, check_loss_on
from slmmodel.errors import InvalidPlan


class Stream(Plan):
    """See the module."""

    name = "stream"
    positions = "row"

    def __init__(
        self,
        pairs: Ints,
        context: int,
        *,
        order: Ints | None = None,
        stride: int = 1,
        joined: bool = False,
        loss_on: LossOn = "all",
    ) -> None:
        super().__init__(pairs, context, stride=stride, joined=joined)
        if not 1 <= stride <= context:
            raise InvalidPlan(
                f"a stride of {stride} leaves pairs out", limit=f"1 to {context}", fix="take one of these"
            )
        self.stride, self.joined, self.loss_on = stride, joined, check_loss_on(loss_on)
        # The unscored pair from one document to the next is the last one of each but the very last.
        sizes = pairs + (joined & (pairs > 0))
        self._index = JoinedPairs(sizes, order)
        self._n = self._index.total - int(joined and self._index.total > 0)
        ends = np.cumsum(ordered(sizes, order))
        self._borders: NDArray[np.int64] = np.unique(ends[ends > 0]) - 1 if joined else ends[:0]
        self._borders = self._borders[self._borders < self._n]

    def __len__(self) -> int:
        return 1 + -(-max(0, self._n - self.context) // self.stride) if self._n else 0

    def spans(self, row: int) -> list[Span]:
        """See `Plan`."""
        self._check_row(row)
        start = row * self.stride
        return self._index.spans(start, min(start + self.context, self._n))

    def _targets(self, rows: Ints) -> Ints:
        starts = np.asarray(rows, dtype=np.int64) * self.stride
        stops = np.minimum(starts + self.context, self._n)
        borders = np.searchsorted(self._borders, stops) - np.searchsorted(self._borders, starts)
        targets: Ints = stops - starts - borders
        return np.minimum(targets, 1) if self.loss_on == "last" else targets

    def n_targets(self, rows: Ints) -> int:
        """See `Plan`."""
        return int(self._targets(rows).sum())

    def scored(self) -> Ints:
        """How often each of the N pairs stands in a window, the loss on all slots: int64 [N]."""
        i = np.arange(self._n, dtype=np.int64)
        first = np.maximum(-(-(i - self.context + 1) // self.stride), 0)
        return np.minimum(i // self.stride, len(self) - 1) - first + 1

    def _last_scored(self) -> Ints:
        """How often each of the N pairs is the last of a window that is scored at all."""
        starts = np.arange(len(self), dtype=np.int64) * self.stride
        last = np.minimum(starts + self.context, self._n) - 1
        last -= np.isin(last, self._borders)
        counts: Ints = np.bincount(last[last >= starts], minlength=self._n).astype(np.int64)
        return counts

    def stats(self) -> PlanStats:
        """See `Plan`."""
        if not len(self):
            return plan_stats(self, 0, 0, 0, (0, 0), 0, 0)
        scored = self.scored()
        held = int(scored.sum())
        counts = np.delete(scored, self._borders)
        if self.loss_on == "last":
            counts = np.delete(self._last_scored(), self._borders)
        cut = self._index.cut(np.arange(1, len(self), dtype=np.int64) * self.stride)
        bounds = (int(counts.min()), int(counts.max())) if counts.size else (0, 0)
        dropped = int(np.count_nonzero(counts == 0))
        return plan_stats(self, int(counts.sum()), held, len(self) * self.context, bounds, cut, dropped)
