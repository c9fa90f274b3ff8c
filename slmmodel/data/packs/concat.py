"""`concat`: all pairs end to end, cut every T. A document that a cut splits goes on in the next row; only the last row
has padding. Each pair is scored exactly once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.joined_pairs import JoinedPairs
from slmmodel.data.spans import Plan, PlanStats, Span, plan_stats


class Concat(Plan):
    """Row `k` holds the pairs `kT` to `(k+1)T - 1` of all documents in plan order."""

    name = "concat"

    def __init__(
        self, pairs: NDArray[np.int64], context: int, *, order: NDArray[np.int64] | None = None, **options: Any
    ) -> None:
        super().__init__(pairs, context, **options)
        self._joined = JoinedPairs(pairs, order)

    def __len__(self) -> int:
        return -(-self._joined.total // self.context)

    def spans(self, row: int) -> list[Span]:
        """See `Plan`."""
        self._check_row(row)
        start = row * self.context
        return self._joined.spans(start, min(start + self.context, self._joined.total))

    def n_targets(self, rows: NDArray[np.int64]) -> int:
        """See `Plan`."""
        missing = len(self) * self.context - self._joined.total
        return len(rows) * self.context - missing * int(np.count_nonzero(rows == len(self) - 1))

    def stats(self) -> PlanStats:
        """See `Plan`."""
        total, slots = self._joined.total, len(self) * self.context
        once = 1 if total else 0
        cut = self._joined.cut(np.arange(self.context, total, self.context, dtype=np.int64))
        return plan_stats(self, total, total, slots, (once, once), cut, 0)
