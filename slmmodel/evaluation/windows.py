"""Windows for scoring: every pair of a document exactly once, whole documents, never cropped.

The first window scores all its pairs; each further one moves by the stride, is aligned to its end, and scores only what
is new. So every target after the first window sees at least `context - stride` pairs before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import InvalidPlan


class ScoringWindows(NamedTuple):
    """Windows of many documents: pairs `start` to `stop - 1` are read, those from `new` on scored. All int64 [W]."""

    doc: NDArray[np.int64]
    start: NDArray[np.int64]
    new: NDArray[np.int64]
    stop: NDArray[np.int64]


def windows_of(pairs: int, context: int, stride: int) -> list[tuple[int, int, int]]:
    """(start, first new, stop) of the windows of one document: the definition, which `scoring_windows` vectorises."""
    out, end = [], 0
    while end < pairs:
        new = min(context, pairs) if end == 0 else min(end + stride, pairs)
        out.append((max(0, new - context), end, new))
        end = new
    return out


def check_stride(context: int, stride: int | None) -> int:
    """The stride, half the context where none is given. Raises `InvalidPlan`."""
    if context < 1:
        raise InvalidPlan(f"a context of {context} slots holds nothing", fix="take a context of 1 or more")
    chosen = max(1, context // 2) if stride is None else stride
    if not 1 <= chosen <= context:
        raise InvalidPlan(
            f"a stride of {chosen} leaves pairs unscored",
            limit=f"1 to the context, {context}",
            fix="take a smaller one",
        )
    return chosen


def scoring_windows(pairs: NDArray[np.int64], context: int, stride: int) -> ScoringWindows:
    """The windows of all documents, document by document."""
    pairs = np.asarray(pairs, dtype=np.int64)
    counts = np.where(pairs > 0, 1 + -(-np.maximum(pairs - context, 0) // stride), 0)
    doc = np.repeat(np.arange(len(pairs), dtype=np.int64), counts)
    ends = np.cumsum(counts)
    local = np.arange(len(doc), dtype=np.int64) - np.repeat(ends - counts, counts)
    size = pairs[doc]
    stop = np.minimum(context + local * stride, size)
    new = np.where(local == 0, 0, context + (local - 1) * stride)
    return ScoringWindows(doc, np.maximum(0, stop - context), new, stop)
