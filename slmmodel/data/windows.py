"""Windowing strategies: ways to slide a window of C = `seq_len` positions over documents of P pairs.

| name | offsets | windows | pair `i` is scored |
|---|---|---|---|
| `left_pad` | `-(C-1) .. P-C` | `P` | `min(C, P-i)` times |
| `slide_through` | `-(C-1) .. P-1` | `P+C-1` | `C` times, once at each position |
| `full_only` | `0 .. P-C`, or `P-C .. 0` where P < C | `abs(P-C)+1` | `min(i+1, C, P-i, P-C+1)`; P < C: `C-P+1` |
| `right_pad_once` | `0 .. P-C`, or `0` where P < C | `max(1, P-C+1)` | as above; P < C: once |
| `stream` | over all documents end to end, moved by `stride` | `1 + ceil((N-C)/stride)` | stride C: once |

Offsets are the pair at the first position; position `t` holds the pair `t` further on, or padding outside the document.
Compare strategies at equal scored targets, never at equal numbers of windows. A new strategy is a `Plan` in a file of
its own (or here) and one line in `WINDOWS`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from slmmodel.data.spans import ConcatenatedPairs, Ints, LossOn, Plan, PlanStats, Span, in_order, starts_of
from slmmodel.errors import InvalidPlan


class DocumentWindows(Plan):
    """Windows over one document at a time, found by a cumulative index of 8 bytes a document.

    A strategy defines how many windows a document has, where each begins, and how often each pair is scored. With
    `loss_on="last"` only the last position of a window that holds a pair is scored. The order of documents plays no
    part: windows are permuted one by one.
    """

    positions = "row"

    def __init__(self, pairs: Ints, seq_len: int, *, order: Ints | None = None, loss_on: LossOn = "all") -> None:
        super().__init__(pairs, seq_len)
        self.loss_on = check_loss_on(loss_on)
        self._starts = starts_of(np.where(pairs > 0, self.counts(pairs), 0))

    @abstractmethod
    def counts(self, pairs: Ints) -> Ints:
        """Windows of documents with these numbers of pairs (at least 1)."""

    @abstractmethod
    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """The pair at the first position of each document's window `local`; negative where padding comes first."""

    @abstractmethod
    def times_scored(self, pairs: int) -> Ints:
        """How often each pair of a document is scored with the loss on all positions: int64 [pairs]."""

    def __len__(self) -> int:
        return int(self._starts[-1])

    def _ranges(self, indices: Ints) -> tuple[Ints, Ints, Ints]:
        """Document, offset and the document's pairs of each window."""
        docs = np.searchsorted(self._starts, indices, side="right") - 1
        pairs = self.pairs[docs]
        return docs, self.offsets(indices - self._starts[docs], pairs), pairs

    def spans(self, index: int) -> list[Span]:
        """See `Plan`."""
        self._check_index(index)
        docs, offsets, pairs = self._ranges(np.array([index], dtype=np.int64))
        offset = int(offsets[0])
        return [Span(int(docs[0]), max(offset, 0), min(offset + self.seq_len, int(pairs[0])), max(-offset, 0))]

    def n_targets(self, indices: Ints) -> int:
        """See `Plan`."""
        if self.loss_on == "last":
            return len(indices)
        _, offsets, pairs = self._ranges(np.asarray(indices, dtype=np.int64))
        return int((np.minimum(offsets + self.seq_len, pairs) - np.maximum(offsets, 0)).sum())

    def _times_last(self, pairs: int) -> Ints:
        """How often each pair of a document is the last one of a window."""
        of = np.full(int(self.counts(np.array([pairs]))[0]), pairs, dtype=np.int64)
        last = np.minimum(self.offsets(np.arange(len(of)), of) + self.seq_len, of) - 1
        counts: Ints = np.bincount(last, minlength=pairs).astype(np.int64)
        return counts

    def stats(self) -> PlanStats:
        """See `Plan`."""
        sizes, documents = np.unique(self.pairs[self.pairs > 0], return_counts=True)
        inside = [self.times_scored(size) for size in sizes.tolist()]
        scored = inside if self.loss_on == "all" else [self._times_last(size) for size in sizes.tolist()]

        def total(counts: list[int]) -> int:
            return sum(count * n for count, n in zip(counts, documents.tolist(), strict=True))

        return self._stats(
            targets=total([int(count.sum()) for count in scored]),
            filled=total([int(count.sum()) for count in inside]),
            positions=len(self) * self.seq_len,
            scored=(
                min((int(count.min()) for count in scored), default=0),
                max((int(count.max()) for count in scored), default=0),
            ),
            cut=int(np.count_nonzero(self.pairs > self.seq_len)),
            dropped=total([int((count == 0).sum()) for count in scored]),
        )

    def _sliding_inside(self, pairs: int) -> Ints:
        """How often each of `pairs >= C` pairs lies in a window that slides within the document."""
        i = np.arange(pairs, dtype=np.int64)
        return np.minimum(np.minimum(i + 1, pairs - i), min(self.seq_len, pairs - self.seq_len + 1))


class LeftPad(DocumentWindows):
    """Every prefix of a document, padded on the left. Early pairs weigh up to C times more than the last one."""

    name = "left_pad"

    def counts(self, pairs: Ints) -> Ints:
        """`P`."""
        return pairs

    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """Window `local` ends with pair `local`."""
        return local - (self.seq_len - 1)

    def times_scored(self, pairs: int) -> Ints:
        """`min(C, P-i)`."""
        return np.minimum(self.seq_len, pairs - np.arange(pairs, dtype=np.int64))


class SlideThrough(DocumentWindows):
    """The window slides from before the first pair to behind the last: each pair is scored once at each position."""

    name = "slide_through"

    def counts(self, pairs: Ints) -> Ints:
        """`P + C - 1`."""
        return pairs + (self.seq_len - 1)

    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """From `-(C-1)` on."""
        return local - (self.seq_len - 1)

    def times_scored(self, pairs: int) -> Ints:
        """`C`."""
        return np.full(pairs, self.seq_len, dtype=np.int64)


class FullOnly(DocumentWindows):
    """Full windows of long documents; a document shorter than the window slides within it and is never cut."""

    name = "full_only"

    def counts(self, pairs: Ints) -> Ints:
        """`|P - C| + 1`."""
        counts: Ints = np.abs(pairs - self.seq_len) + 1
        return counts

    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """From 0 on, or from `P - C` where that is negative."""
        return local + np.minimum(pairs - self.seq_len, 0)

    def times_scored(self, pairs: int) -> Ints:
        """`min(i+1, C, P-i, P-C+1)`, or `C-P+1` for short documents."""
        if pairs >= self.seq_len:
            return self._sliding_inside(pairs)
        return np.full(pairs, self.seq_len - pairs + 1, dtype=np.int64)


class RightPadOnce(DocumentWindows):
    """Full windows of long documents; a document shorter than the window fills one window, padded on the right."""

    name = "right_pad_once"

    def counts(self, pairs: Ints) -> Ints:
        """`max(1, P - C + 1)`."""
        return np.maximum(pairs - self.seq_len + 1, 1)

    def offsets(self, local: Ints, pairs: Ints) -> Ints:
        """From 0 on."""
        return local

    def times_scored(self, pairs: int) -> Ints:
        """As `full_only` for long documents, once for short ones."""
        if pairs >= self.seq_len:
            return self._sliding_inside(pairs)
        return np.ones(pairs, dtype=np.int64)


class Stream(Plan):
    """A window over all N pairs of all documents laid end to end, moved by `stride`.

    Only a last window that is short has padding. With stride 1 a pair is scored C times (less at the two ends), with
    stride C exactly once. `joined=True` is the literal text `..</s><s>..`: one document for the model, in which the
    pair from `</s>` to `<s>` is an input and never scored.
    """

    name = "stream"
    positions = "row"

    def __init__(
        self,
        pairs: Ints,
        seq_len: int,
        *,
        order: Ints | None = None,
        stride: int = 1,
        joined: bool = False,
        loss_on: LossOn = "all",
    ) -> None:
        super().__init__(pairs, seq_len, stride=stride, joined=joined)
        if not 1 <= stride <= seq_len:
            raise InvalidPlan(
                f"stride is {stride}, which leaves pairs out",
                limit=f"1 to {seq_len}",
                fix="--set data.options.stride=1",
            )
        self.stride, self.joined, self.loss_on = stride, joined, check_loss_on(loss_on)
        # Each document but the last ends with the unscored pair to its successor.
        sizes = pairs + (joined & (pairs > 0))
        self._all = ConcatenatedPairs(sizes, order)
        self._n = self._all.total - int(joined and self._all.total > 0)
        ends = np.cumsum(in_order(sizes, order))
        unscored: Ints = np.unique(ends[ends > 0]) - 1 if joined else ends[:0]
        self._unscored = unscored[unscored < self._n]

    def __len__(self) -> int:
        return 1 + -(-max(0, self._n - self.seq_len) // self.stride) if self._n else 0

    def spans(self, index: int) -> list[Span]:
        """See `Plan`."""
        self._check_index(index)
        start = index * self.stride
        return self._all.spans(start, min(start + self.seq_len, self._n))

    def n_targets(self, indices: Ints) -> int:
        """See `Plan`."""
        starts = np.asarray(indices, dtype=np.int64) * self.stride
        stops = np.minimum(starts + self.seq_len, self._n)
        unscored = np.searchsorted(self._unscored, stops) - np.searchsorted(self._unscored, starts)
        targets = stops - starts - unscored
        return int((np.minimum(targets, 1) if self.loss_on == "last" else targets).sum())

    def times_scored(self) -> Ints:
        """How often each of the N pairs lies in a window: int64 [N]."""
        i = np.arange(self._n, dtype=np.int64)
        first = np.maximum(-(-(i - self.seq_len + 1) // self.stride), 0)
        return np.minimum(i // self.stride, len(self) - 1) - first + 1

    def _times_last(self) -> Ints:
        """How often each of the N pairs is the last scored one of a window."""
        starts = np.arange(len(self), dtype=np.int64) * self.stride
        last = np.minimum(starts + self.seq_len, self._n) - 1
        last -= np.isin(last, self._unscored)
        counts: Ints = np.bincount(last[last >= starts], minlength=self._n).astype(np.int64)
        return counts

    def stats(self) -> PlanStats:
        """See `Plan`."""
        inside = self.times_scored() if len(self) else np.empty(0, dtype=np.int64)
        scored = inside if self.loss_on == "all" or not len(self) else self._times_last()
        counts = np.delete(scored, self._unscored)
        return self._stats(
            targets=int(counts.sum()),
            filled=int(inside.sum()),
            positions=len(self) * self.seq_len,
            scored=(int(counts.min()), int(counts.max())) if counts.size else (0, 0),
            cut=self._all.n_cut(np.arange(1, len(self), dtype=np.int64) * self.stride),
            dropped=int(np.count_nonzero(counts == 0)),
        )


def check_loss_on(loss_on: LossOn) -> LossOn:
    """Returns the argument. Raises `InvalidPlan` unless it is `all` or `last`."""
    if loss_on not in ("all", "last"):
        raise InvalidPlan(f"loss_on is {loss_on!r}", limit="all or last", fix="--set data.loss_on=all")
    return loss_on


WINDOWS: dict[str, Callable[..., Plan]] = {
    "stream": Stream,
    "right_pad_once": RightPadOnce,
    "full_only": FullOnly,
    "left_pad": LeftPad,
    "slide_through": SlideThrough,
}
