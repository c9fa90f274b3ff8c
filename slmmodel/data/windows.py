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
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from slmmodel.data.spans import Coverage, EndToEnd, Ints, Plan, Span, starts_of
from slmmodel.errors import InvalidConfig


class DocumentWindows(Plan):
    """Windows over one document at a time, found by a cumulative index of 8 bytes a document.

    A strategy defines how many windows a document has, and where each begins. With `loss_on="last"` only the last
    position of a window that holds a pair is scored. The order of documents plays no part: windows are permuted one by
    one.
    """

    OPTIONS: ClassVar = {"loss_on": "all"}
    positions = "row"

    def _arrange(self) -> None:
        self._starts = starts_of(np.where(self.pairs > 0, self._counts(self.pairs), 0))

    @abstractmethod
    def _counts(self, pairs: Ints) -> Ints:
        """Windows of documents with these numbers of pairs (at least 1)."""

    @abstractmethod
    def _offsets(self, local: Ints, pairs: Ints) -> Ints:
        """The pair at the first position of each document's window `local`; negative where padding comes first."""

    def __len__(self) -> int:
        return int(self._starts[-1])

    def _windows(self, indices: Ints) -> tuple[Ints, Ints, Ints]:
        """Document of each window, the pair at its first position, and the one behind its last pair."""
        docs = np.searchsorted(self._starts, indices, side="right") - 1
        pairs = self.pairs[docs]
        offsets = self._offsets(indices - self._starts[docs], pairs)
        return docs, offsets, np.minimum(offsets + self.seq_len, pairs)

    def _spans(self, index: int) -> list[Span]:
        doc, offset, stop = (int(values[0]) for values in self._windows(np.array([index], dtype=np.int64)))
        return [Span(doc, max(offset, 0), stop, max(-offset, 0))]

    def n_targets(self, indices: Ints) -> int:
        """See `Plan`."""
        if self.loss_on == "last":
            return len(indices)
        _, offsets, stops = self._windows(np.asarray(indices, dtype=np.int64))
        return int((stops - np.maximum(offsets, 0)).sum())

    def _n_cut(self) -> int:
        return int(np.count_nonzero(self.pairs > self.seq_len))

    def _coverage(self) -> Coverage:
        sizes, documents = np.unique(self.pairs[self.pairs > 0], return_counts=True)
        bounds = [self._bounds(size) for size in sizes.tolist()]
        inside = [times_inside(*bound, size) for bound, size in zip(bounds, sizes.tolist(), strict=True)]
        last = [np.bincount(stops - 1, minlength=size) for (_, stops), size in zip(bounds, sizes.tolist(), strict=True)]
        return coverage(inside, inside if self.loss_on == "all" else last, documents)

    def times_scored(self, pairs: int) -> Ints:
        """How often each pair of a document is scored with the loss on all positions: int64 [pairs]."""
        return times_inside(*self._bounds(pairs), pairs)

    def _bounds(self, pairs: int) -> tuple[Ints, Ints]:
        """First pair, and the one behind the last, of each window of a document of `pairs` pairs."""
        of = np.full(int(self._counts(np.array([pairs]))[0]), pairs, dtype=np.int64)
        offsets = self._offsets(np.arange(len(of)), of)
        return np.maximum(offsets, 0), np.minimum(offsets + self.seq_len, of)


class LeftPad(DocumentWindows):
    """Every prefix of a document, padded on the left. Early pairs weigh up to C times more than the last one."""

    name = "left_pad"

    def _counts(self, pairs: Ints) -> Ints:
        return pairs

    def _offsets(self, local: Ints, pairs: Ints) -> Ints:
        return local - (self.seq_len - 1)


class SlideThrough(DocumentWindows):
    """The window slides from before the first pair to behind the last: each pair is scored once at each position."""

    name = "slide_through"

    def _counts(self, pairs: Ints) -> Ints:
        return pairs + (self.seq_len - 1)

    def _offsets(self, local: Ints, pairs: Ints) -> Ints:
        return local - (self.seq_len - 1)


class FullOnly(DocumentWindows):
    """Full windows of long documents; a document shorter than the window slides within it and is never cut."""

    name = "full_only"

    def _counts(self, pairs: Ints) -> Ints:
        counts: Ints = np.abs(pairs - self.seq_len) + 1
        return counts

    def _offsets(self, local: Ints, pairs: Ints) -> Ints:
        return local + np.minimum(pairs - self.seq_len, 0)


class RightPadOnce(DocumentWindows):
    """Full windows of long documents; a document shorter than the window fills one window, padded on the right."""

    name = "right_pad_once"

    def _counts(self, pairs: Ints) -> Ints:
        return np.maximum(pairs - self.seq_len + 1, 1)

    def _offsets(self, local: Ints, pairs: Ints) -> Ints:
        return local


class Stream(EndToEnd):
    """A window over all N pairs of all documents laid end to end, moved by `stride`.

    Only a last window that is short has padding. With stride 1 a pair is scored C times (less at the two ends), with
    stride C exactly once. `joined=True` is the literal text `..</s><s>..`: one document for the model, in which the
    pair from `</s>` to `<s>` is an input and never scored.
    """

    name = "stream"
    OPTIONS: ClassVar = {"stride": 1, "joined": False, "loss_on": "all"}
    positions = "row"

    def _arrange(self) -> None:
        self.stride, self.joined = int(self.options["stride"]), bool(self.options["joined"])
        if self.stride > self.seq_len:
            raise InvalidConfig(
                f"stride is {self.stride}, which leaves pairs out",
                limit=f"1 to {self.seq_len}",
                fix="--set data.options.stride=1",
            )
        # Each document but the last ends with the unscored pair to its successor.
        self._lay(self.pairs + (self.joined & (self.pairs > 0)))
        self._n = self._total - int(self.joined and self._total > 0)
        ends = self._starts[self._starts > 0]
        unscored: Ints = np.unique(ends) - 1 if self.joined else ends[:0]
        self._unscored = unscored[unscored < self._n]

    def __len__(self) -> int:
        return 1 + -(-max(0, self._n - self.seq_len) // self.stride) if self._n else 0

    def _ranges(self, indices: Any) -> tuple[Any, Any]:
        starts = indices * self.stride
        return starts, np.minimum(starts + self.seq_len, self._n)

    def n_targets(self, indices: Ints) -> int:
        """See `Plan`."""
        starts, stops = self._ranges(np.asarray(indices, dtype=np.int64))
        targets = stops - starts - np.searchsorted(self._unscored, stops) + np.searchsorted(self._unscored, starts)
        return int((np.minimum(targets, 1) if self.loss_on == "last" else targets).sum())

    def _coverage(self) -> Coverage:
        starts, stops = self._ranges(np.arange(len(self), dtype=np.int64))
        inside = scored = times_inside(starts, stops, self._n)
        if self.loss_on == "last":
            last = stops - 1
            last -= np.isin(last, self._unscored)
            scored = np.bincount(last[last >= starts], minlength=self._n)
        return coverage([inside], [np.delete(scored, self._unscored)], [1])


def times_inside(starts: Ints, stops: Ints, n: int) -> Ints:
    """How many of the ranges `starts[i]` to `stops[i] - 1` hold each of the numbers 0 to `n - 1`: int64 [n]."""
    steps = np.bincount(starts, minlength=n + 1) - np.bincount(stops, minlength=n + 1)
    times: Ints = np.cumsum(steps)[:n]
    return times


def coverage(inside: Sequence[Ints], scored: Sequence[Ints], documents: Sequence[int] | Ints) -> Coverage:
    """Totals over groups of equal documents: how often each pair is in a window, how often scored, and the numbers of
    documents."""

    def total(counts: list[int]) -> int:
        return sum(count * int(n) for count, n in zip(counts, documents, strict=True))

    return Coverage(
        filled=total([int(times.sum()) for times in inside]),
        targets=total([int(times.sum()) for times in scored]),
        scored_min=min((int(times.min()) for times in scored if times.size), default=0),
        scored_max=max((int(times.max()) for times in scored if times.size), default=0),
        dropped=total([int((times == 0).sum()) for times in scored]),
    )


WINDOWS: dict[str, type[Plan]] = {plan.name: plan for plan in (Stream, RightPadOnce, FullOnly, LeftPad, SlideThrough)}
