"""`left_pad`: every prefix of a document, padded on the left: offsets `-(C-1) .. P-C`, so `P` windows. Pair `i` is
scored `min(C, P-i)` times: early pairs weigh up to C times more than the last."""

from __future__ import annotations

import numpy as np

from slmmodel.data.windows._by_document import DocumentWindows, Ints


class LeftPad(DocumentWindows):
    """See the module."""

    name = "left_pad"

    def counts(self, pairs: Ints) -> Ints:
        """`P`."""
        return pairs

    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """The window `local` ends with pair `local`."""
        return local - (self.context - 1)

    def scored(self, pairs: int) -> Ints:
        """`min(C, P-i)`."""
        return np.minimum(self.context, pairs - np.arange(pairs, dtype=np.int64))
