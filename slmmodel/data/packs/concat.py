"""`concat`: all pairs end to end, cut every T. A document that a cut splits goes on in the next row; only the last row
has padding. Each pair is scored exactly once.

With an offset the ends are joined to a ring, which is cut `offset` pairs further on. Rows stay as many and as full.
The row over the join holds the end of the last document and the beginning of the first, as two spans.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.joined_pairs import JoinedPairs
from slmmodel.data.spans import Plan, PlanStats, Span, plan_stats


class Concat(Plan):
    """Row `k` holds `T` pairs of all documents in plan order, from the pair `offset + kT` on, around the ring."""

    name = "concat"

    def __init__(
        self,
        pairs: NDArray[np.int64],
        context: int,
        *,
        order: NDArray[np.int64] | None = None,
        offset: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(pairs, context, **options, **({"offset": offset} if offset else {}))
        self._joined = JoinedPairs(pairs, order)
        self._offset = offset % max(1, self._joined.total)

    def __len__(self) -> int:
        return -(-self._joined.total // self.context)

    def spans(self, row: int) -> list[Span]:
        """See `Plan`."""
        self._check_row(row)
        total, start = self._joined.total, self._offset + row * self.context
        stop = min(start + self.context, self._offset + total)
        head = self._joined.spans(start, min(stop, total))
        return head + self._joined.spans(max(start - total, 0), stop - total, at=max(total - start, 0))

    def n_targets(self, rows: NDArray[np.int64]) -> int:
        """See `Plan`."""
        missing = len(self) * self.context - self._joined.total
        return len(rows) * self.context - missing * int(np.count_nonzero(rows == len(self) - 1))

    def stats(self) -> PlanStats:
        """See `Plan`."""
        total, slots = self._joined.total, len(self) * self.context
        once = 1 if total else 0
        cuts = (self._offset + np.arange(0, total, self.context, dtype=np.int64)) % max(1, total)
        return plan_stats(self, total, total, slots, (once, once), self._joined.cut(cuts), 0)
