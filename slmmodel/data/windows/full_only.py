"""`full_only`: windows full of pairs where the document is long enough, offsets `0 .. P-C`; a shorter one slides within
the window, offsets `P-C .. 0`, and is never cut. `|P-C|+1` windows."""

from __future__ import annotations

import numpy as np

from slmmodel.data.windows._by_document import DocumentWindows, Ints, sliding_inside


class FullOnly(DocumentWindows):
    """See the module."""

    name = "full_only"

    def counts(self, pairs: Ints) -> Ints:
        """`|P - C| + 1`."""
        counts: Ints = np.abs(pairs - self.context) + 1
        return counts

    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """From 0 on, or from `P-C` where that is negative."""
        return local + np.minimum(pairs - self.context, 0)

    def scored(self, pairs: int) -> Ints:
        """`min(i+1, C, P-i, P-C+1)`, or `C-P+1` for short documents."""
        if pairs >= self.context:
            return sliding_inside(pairs, self.context)
        return np.full(pairs, self.context - pairs + 1, dtype=np.int64)
