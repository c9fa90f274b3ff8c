"""`slide_through`: the window slides over a document from before its first pair to behind its last one: offsets
`-(C-1) .. P-1`, so `P+C-1` windows, and each pair is scored exactly C times, once in each slot."""

from __future__ import annotations

import numpy as np

from slmmodel.data.windows._by_document import DocumentWindows, Ints


class SlideThrough(DocumentWindows):
    """See the module."""

    name = "slide_through"

    def counts(self, pairs: Ints) -> Ints:
        """`P + C - 1`."""
        return pairs + (self.context - 1)

    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """From `-(C-1)` on."""
        return local - (self.context - 1)

    def scored(self, pairs: int) -> Ints:
        """C, always."""
        return np.full(pairs, self.context, dtype=np.int64)
