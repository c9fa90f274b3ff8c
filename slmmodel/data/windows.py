"""Windowing strategies: ways to slide a window of C = `seq_len` positions over documents of P pairs.

| name | offsets | windows | pair `i` is scored |
|---|---|---|---|
| `left_pad` | `1-C .. P-C` | `P` | `min(C, P-i)` times |
| `slide_through` | `1-C .. P-1` | `P+C-1` | `C` times, once at each position |
| `full_only` | `0 .. P-C`, or `P-C .. 0` where P < C | `abs(P-C)+1` | `min(i+1, C, P-i, P-C+1)`; P < C: `C-P+1` |
| `right_pad_once` | `0 .. P-C`, or `0` where P < C | `max(1, P-C+1)` | as above; P < C: once |
| `stream` | over all documents end to end, moved by `stride` | `1 + ceil((N-C)/stride)` | stride C: once |

Offsets are the pair at the first position; position `t` holds the pair `t` further on, or padding outside the document.
Compare strategies at equal scored targets, never at equal numbers of windows. A new strategy is a `Plan` in a file of
its own (or here) and one line in `WINDOWS`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from slmmodel.data.spans import EndToEnd, Ints, Plan, Span, starts_of
from slmmodel.errors import InvalidConfig


class DocumentWindows(Plan):
    """Windows over one document at a time, found by a cumulative index of 8 bytes a document.

    A strategy defines the offsets of the first and the last window of a document; those between are one pair apart.
    With `loss_on="last"` only the last position of a window that holds a pair is scored. The order of documents plays
    no part: windows are permuted one by one.
    """

    OPTIONS: ClassVar = {"loss_on": "all"}
    positions = "row"

    @abstractmethod
    def _offsets(self, pairs: Any) -> tuple[Any, Any]:
        """The pair at the first position of a document's first and last window; negative where padding comes first.

        `pairs` are the pairs of one document or of many (int64 [n]), at least 1 each.
        """

    def _arrange(self) -> None:
        first, last = self._offsets(self.pairs)
        self._starts = starts_of(np.where(self.pairs > 0, last - first + 1, 0))

    def __len__(self) -> int:
        return int(self._starts[-1])

    def _windows(self, indices: Any) -> tuple[Any, Any, Any]:
        """Document of each window, the pair at its first position, and the one behind its last pair."""
        docs = self._starts.searchsorted(indices, side="right") - 1
        pairs = self.pairs[docs]
        offsets = self._offsets(pairs)[0] + indices - self._starts[docs]
        return docs, offsets, np.minimum(offsets + self.seq_len, pairs)

    def _spans(self, index: int) -> list[Span]:
        doc, offset, stop = (int(value) for value in self._windows(index))
        return [Span(doc, max(offset, 0), stop, max(-offset, 0))]

    def n_targets(self, indices: Ints) -> int:
        """See `Plan`."""
        if self.loss_on == "last":
            return len(indices)
        _, offsets, stops = self._windows(np.asarray(indices, dtype=np.int64))
        return int((stops - np.maximum(offsets, 0)).sum())

    def _n_cut(self) -> int:
        return int(np.count_nonzero(self.pairs > self.seq_len))

    def _coverage(self) -> tuple[int, Ints, Ints]:
        sizes, documents = np.unique(self.pairs[self.pairs > 0], return_counts=True)
        found = [self.times_scored(size) for size in sizes.tolist()]
        filled = sum(int(count) * placed for count, (placed, _) in zip(documents, found, strict=True))
        return filled, np.concatenate([sizes[:0], *(times for _, times in found)]), np.repeat(documents, sizes)

    def times_scored(self, pairs: int) -> tuple[int, Ints]:
        """Of a document: positions of its windows that hold a pair; how often each pair is scored: int64 [pairs]."""
        first, last = self._offsets(pairs)
        offsets = np.arange(first, last + 1)
        starts, stops = np.maximum(offsets, 0), np.minimum(offsets + self.seq_len, pairs)
        last_only = self.loss_on == "last"
        times = np.bincount(stops - 1, minlength=pairs) if last_only else times_inside(starts, stops, pairs)
        return int((stops - starts).sum()), times


class LeftPad(DocumentWindows):
    """Every prefix of a document, padded on the left. Early pairs weigh up to C times more than the last one."""

    name = "left_pad"

    def _offsets(self, pairs: Any) -> tuple[Any, Any]:
        return 1 - self.seq_len, pairs - self.seq_len


class SlideThrough(DocumentWindows):
    """The window slides from before the first pair to behind the last: each pair is scored once at each position."""

    name = "slide_through"

    def _offsets(self, pairs: Any) -> tuple[Any, Any]:
        return 1 - self.seq_len, pairs - 1


class FullOnly(DocumentWindows):
    """Full windows of long documents; a document shorter than the window slides within it and is never cut."""

    name = "full_only"

    def _offsets(self, pairs: Any) -> tuple[Any, Any]:
        return np.minimum(pairs - self.seq_len, 0), np.maximum(pairs - self.seq_len, 0)


class RightPadOnce(DocumentWindows):
    """Full windows of long documents; a document shorter than the window fills one window, padded on the right."""

    name = "right_pad_once"

    def _offsets(self, pairs: Any) -> tuple[Any, Any]:
        return 0, np.maximum(pairs - self.seq_len, 0)


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
        self.stride, joined = int(self.options["stride"]), bool(self.options["joined"])
        self.single_doc = joined
        if self.stride > self.seq_len:
            raise InvalidConfig(
                f"stride is {self.stride}, which leaves pairs out",
                limit=f"1 to {self.seq_len}",
                fix="--set data.options.stride=1",
            )
        # Each document but the last ends with the unscored pair to its successor.
        self._lay(self.pairs + (joined & (self.pairs > 0)))
        self._n = self._total - int(joined and self._total > 0)
        ends = self._starts[self._starts > 0]
        unscored: Ints = np.unique(ends) - 1 if joined else ends[:0]
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

    def _coverage(self) -> tuple[int, Ints, Ints]:
        starts, stops = self._ranges(np.arange(len(self), dtype=np.int64))
        if self.loss_on == "last":
            last = stops - 1
            last -= np.isin(last, self._unscored)
            times: Ints = np.bincount(last[last >= starts], minlength=self._n)
        else:
            times = times_inside(starts, stops, self._n)
        times = np.delete(times, self._unscored)
        return int((stops - starts).sum()), times, np.ones_like(times)


def times_inside(starts: Ints, stops: Ints, n: int) -> Ints:
    """How many of the ranges `starts[i]` to `stops[i] - 1` hold each of the numbers 0 to `n - 1`: int64 [n]."""
    steps = np.bincount(starts, minlength=n + 1) - np.bincount(stops, minlength=n + 1)
    times: Ints = np.cumsum(steps)[:n]
    return times


WINDOWS: dict[str, type[Plan]] = {plan.name: plan for plan in (Stream, RightPadOnce, FullOnly, LeftPad, SlideThrough)}
