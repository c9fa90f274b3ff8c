"""`lanes`: all pairs end to end, cut into `batch_rows` equal lanes that are read side by side. For recurrent models
that carry their state from step to step: step `s` takes the slots `[sT, (s+1)T)` of each lane, in order.

Row `k` is step `k // batch_rows` of lane `k % batch_rows`. Only the last step of a lane has padding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.joined_pairs import JoinedPairs
from slmmodel.data.spans import Plan, PlanStats, Span, plan_stats
from slmmodel.errors import InvalidPlan


class Lanes(Plan):
    """See the module."""

    name = "lanes"
    ordering = "sequential"

    def __init__(
        self,
        pairs: NDArray[np.int64],
        context: int,
        *,
        order: NDArray[np.int64] | None = None,
        batch_rows: int = 32,
    ) -> None:
        super().__init__(pairs, context, batch_rows=batch_rows)
        if batch_rows < 1:
            raise InvalidPlan("there is at least one lane", fix="batch_rows of 1 or more")
        self._joined, self._lanes = JoinedPairs(pairs, order), batch_rows
        self._lane = -(-self._joined.total // batch_rows)

    def __len__(self) -> int:
        return -(-self._lane // self.context) * self._lanes

    def _range(self, row: int) -> tuple[int, int]:
        step, lane = divmod(row, self._lanes)
        end = min((lane + 1) * self._lane, self._joined.total)
        start = lane * self._lane + step * self.context
        return min(start, end), min(start + self.context, end)

    def spans(self, row: int) -> list[Span]:
        """See `Plan`."""
        self._check_row(row)
        return self._joined.spans(*self._range(row))

    def n_targets(self, rows: NDArray[np.int64]) -> int:
        """See `Plan`."""
        return sum(stop - start for start, stop in (self._range(int(row)) for row in rows))

    def stats(self) -> PlanStats:
        """See `Plan`."""
        total, slots = self._joined.total, len(self) * self.context
        starts = np.unique(np.array([self._range(row)[0] for row in range(len(self))], dtype=np.int64))
        once = int(total > 0)
        return plan_stats(self, total, total, slots, (once, once), self._joined.cut(starts), 0)
