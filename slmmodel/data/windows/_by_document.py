"""Windows that slide over one document at a time, by a cumulative index: what four strategies share.

A strategy says how many windows a document of `P` pairs has and where each begins; all else follows. Storage: 8 bytes a
document. `loss_on="last"` scores only the last slot of a window that holds a pair.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.spans import LossOn, Plan, PlanStats, Span, plan_stats, starts_of
from slmmodel.errors import InvalidPlan

Ints = NDArray[np.int64]


class DocumentWindows(Plan):
    """The order of documents plays no part: rows are permuted one by one."""

    positions = "row"

    def __init__(self, pairs: Ints, context: int, *, order: Ints | None = None, loss_on: LossOn = "all") -> None:
        super().__init__(pairs, context)
        self.loss_on = check_loss_on(loss_on)
        self._starts = starts_of(np.where(pairs > 0, self.counts(pairs), 0))

    @abstractmethod
    def counts(self, pairs: Ints) -> Ints:
        """Windows of documents with these numbers of pairs (1 or more)."""

    @abstractmethod
    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """The pair that the first slot of each document's window `local` holds; negative where slots are padding."""

    @abstractmethod
    def scored(self, pairs: int) -> Ints:
        """How often each pair of a document is scored, with the loss on all slots: int64 [pairs]."""

    def __len__(self) -> int:
        return int(self._starts[-1])

    def _ranges(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """Document, offset and document's pairs of each row."""
        docs = np.searchsorted(self._starts, rows, side="right") - 1
        pairs = self.pairs[docs]
        return docs, self.offsets(rows - self._starts[docs], pairs), pairs

    def spans(self, row: int) -> list[Span]:
        """See `Plan`."""
        self._check_row(row)
        docs, offsets, pairs = self._ranges(np.array([row], dtype=np.int64))
        offset = int(offsets[0])
        return [Span(int(docs[0]), max(offset, 0), min(offset + self.context, int(pairs[0])), max(-offset, 0))]

    def n_targets(self, rows: Ints) -> int:
        """See `Plan`."""
        if self.loss_on == "last":
            return len(rows)
        _, offsets, pairs = self._ranges(np.asarray(rows, dtype=np.int64))
        return int((np.minimum(offsets + self.context, pairs) - np.maximum(offsets, 0)).sum())

    def _scored(self, pairs: int) -> Ints:
        """`scored`, or how often each pair is the last one of a window."""
        if self.loss_on == "all":
            return self.scored(pairs)
        of = np.full(int(self.counts(np.array([pairs]))[0]), pairs, dtype=np.int64)
        last = np.minimum(self.offsets(np.arange(len(of)), of) + self.context, of) - 1
        counts: Ints = np.bincount(last, minlength=pairs).astype(np.int64)
        return counts

    def stats(self) -> PlanStats:
        """See `Plan`."""
        sizes, times = np.unique(self.pairs[self.pairs > 0], return_counts=True)
        held = sum(
            int(self.scored(size).sum()) * time for size, time in zip(sizes.tolist(), times.tolist(), strict=True)
        )
        counts = [self._scored(size) for size in sizes.tolist()]
        targets = sum(int(count.sum()) * time for count, time in zip(counts, times.tolist(), strict=True))
        scored = (
            (min(int(count.min()) for count in counts), max(int(count.max()) for count in counts)) if counts else (0, 0)
        )
        dropped = sum(int((count == 0).sum()) * time for count, time in zip(counts, times.tolist(), strict=True))
        cut = int(np.count_nonzero(self.pairs > self.context))
        return plan_stats(self, targets, held, len(self) * self.context, scored, cut, dropped)


def check_loss_on(loss_on: LossOn) -> LossOn:
    """Raises `InvalidPlan` for another word than `all` and `last`."""
    if loss_on not in ("all", "last"):
        raise InvalidPlan(f"the loss cannot be on {loss_on!r}", limit="all, last", fix="take one of the two")
    return loss_on


def sliding_inside(pairs: int, context: int) -> Ints:
    """How often each pair of a document of at least `context` pairs lies in a window that slides within it."""
    i = np.arange(pairs, dtype=np.int64)
    ends = np.minimum(i + 1, pairs - i)
    return np.minimum(ends, min(context, pairs - context + 1))
