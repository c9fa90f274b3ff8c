"""`right_pad_once`: windows full of pairs, offsets `0 .. P-C`; a document shorter than the window stands in it once,
padded on the right. `max(1, P-C+1)` windows."""

from __future__ import annotations

import numpy as np

from slmmodel.data.windows._by_document import DocumentWindows, Ints, sliding_inside


class RightPadOnce(DocumentWindows):
    """See the module."""

    name = "right_pad_once"

    def counts(self, pairs: Ints) -> Ints:
        """`max(1, P - C + 1)`."""
        return np.maximum(pairs - self.context + 1, 1)

    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """From 0 on."""
        return local

    def scored(self, pairs: int) -> Ints:
        """As `full_only` for long documents, once for short ones."""
        if pairs >= self.context:
            return sliding_inside(pairs, self.context)
        return np.ones(pairs, dtype=np.int64)
