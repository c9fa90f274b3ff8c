"""Windowing strategies: ways to slide a window of C = `seq_len` columns over documents of P inputs.

| name | offsets | windows | input `i` is scored |
|---|---|---|---|
| `left_pad` | `1-C .. P-C` | `P` | `min(C, P-i)` times |
| `slide_through` | `1-C .. P-1` | `P+C-1` | `C` times, once in each column |
| `full_only` | `0 .. P-C`, or `P-C .. 0` where P < C | `abs(P-C)+1` | `min(i+1, C, P-i, P-C+1)`; P < C: `C-P+1` |
| `right_pad_once` | `0 .. P-C`, or `0` where P < C | `max(1, P-C+1)` | as above; P < C: once |
| `stream` | over all documents end to end, moved by `stride` | `1 + ceil((N-C)/stride)` | stride C: once |

An offset is the input in the first column; column `t` holds the input `t` further on, or padding outside the document.
Compare strategies at equal scored targets, never at equal numbers of windows. A new strategy is a line in `OFFSETS`, or
a `Packing` in a file of its own and a line in `WINDOWS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from slmmodel.data.packing import EndToEnd, Ints, Packing, Spans, check_range, prefix_sums
from slmmodel.errors import Argument
from slmmodel.sizes import ceil_div


class DocumentWindows(Packing):
    """Windows over one document at a time, found by a cumulative index of 8 bytes a document.

    A strategy is an entry of `OFFSETS`: the offsets of the first and the last window of a document; those between are
    one input apart.
    With `loss_on="last"` only the last input of a window is scored. The order of documents plays
    no part: windows are permuted one by one.
    """

    OPTIONS: ClassVar = {"loss_on": "all"}
    default_positions = "row"

    def _arrange(self) -> None:
        first, last = OFFSETS[self.name](self.n_inputs, self.seq_len)
        self._starts = prefix_sums(np.where(self.n_inputs > 0, last - first + 1, 0))

    def __len__(self) -> int:
        return int(self._starts[-1])

    def _windows(self, indices: Any) -> tuple[Any, Any, Any]:
        """Document of each window, the input in its first column, and the one behind its last input."""
        docs = self._starts.searchsorted(indices, side="right") - 1
        n_inputs = self.n_inputs[docs]
        offsets = OFFSETS[self.name](n_inputs, self.seq_len)[0] + indices - self._starts[docs]
        return docs, offsets, np.minimum(offsets + self.seq_len, n_inputs)

    def spans_of(self, indices: Ints) -> Spans:
        """See `Packing`."""
        docs, offsets, stops = self._windows(indices)
        return Spans(np.arange(len(indices)), docs, np.maximum(offsets, 0), stops, np.maximum(-offsets, 0))

    def _targets(self, indices: Ints) -> Ints:
        _, offsets, stops = self._windows(indices)
        targets: Ints = stops - np.maximum(offsets, 0)
        return targets

    def _n_cut(self) -> int:
        return int(np.count_nonzero(self.n_inputs > self.seq_len))

    def _coverage(self) -> tuple[int, Ints, Ints]:
        # Documents of equal size are covered alike, so one of each size is enough.
        sizes, documents = np.unique(self.n_inputs[self.n_inputs > 0], return_counts=True)
        alike = type(self)(sizes, self.seq_len, self.options)
        docs, offsets, stops = alike._windows(np.arange(len(alike), dtype=np.int64))
        starts, before = np.maximum(offsets, 0), prefix_sums(sizes)
        times = times_scored(before[docs] + starts, before[docs] + stops, int(before[-1]), self.loss_on)
        return int((stops - starts) @ documents[docs]), times, np.repeat(documents, sizes)


OFFSETS: dict[str, Callable[[Any, int], tuple[Any, Any]]] = {
    # A document shorter than the window fills one window, padded on the right.
    "right_pad_once": lambda n_inputs, seq_len: (0, np.maximum(n_inputs - seq_len, 0)),
    # A document shorter than the window slides within it and is never cut.
    "full_only": lambda n_inputs, seq_len: (np.minimum(n_inputs - seq_len, 0), np.maximum(n_inputs - seq_len, 0)),
    # Every prefix of a document. Early inputs weigh up to C times more than the last one.
    "left_pad": lambda n_inputs, seq_len: (1 - seq_len, n_inputs - seq_len),
    # From before the first input to behind the last: each input is scored once in each column.
    "slide_through": lambda n_inputs, seq_len: (1 - seq_len, n_inputs - 1),
}
"""The offsets of the first and the last window of documents with `n_inputs` >= 1 inputs: int64 [n]."""


class Stream(EndToEnd):
    """A window over the N inputs of all documents laid end to end, moved by `stride`.

    Only a last window that is short has padding. With stride 1 an input is scored C times (less at the two ends), with
    stride C exactly once. `joined=True` is the literal text `..</s><s>..`: one document for the model, in which `</s>`
    is an input whose target `<s>` is never scored.
    """

    name = "stream"
    OPTIONS: ClassVar = {"stride": 1, "joined": False, "loss_on": "all"}
    default_positions = "row"

    def _arrange(self) -> None:
        self.stride, joined = int(self.options["stride"]), bool(self.options["joined"])
        self.joins_documents = joined
        check_range("stride", self.stride, 1, self.seq_len, fix=(Argument("data.options.stride", self.seq_len),))
        # Each document but the last ends with one more input, whose target is the first id of its successor.
        self._concatenate(self.n_inputs + (joined & (self.n_inputs > 0)))
        self._n = self._total - int(joined and self._total > 0)
        ends = self._starts[self._starts > 0]
        joints: Ints = np.unique(ends) - 1 if joined else ends[:0]
        self._joints = joints[joints < self._n]  # the inputs `</s>`, whose target `<s>` is not scored

    def __len__(self) -> int:
        return 1 + ceil_div(max(0, self._n - self.seq_len), self.stride) if self._n else 0

    def _ranges(self, indices: Any) -> tuple[Any, Any]:
        starts = indices * self.stride
        return starts, np.minimum(starts + self.seq_len, self._n)

    def _targets(self, indices: Ints) -> Ints:
        starts, stops = self._ranges(indices)
        unscored: Ints = np.searchsorted(self._joints, stops) - np.searchsorted(self._joints, starts)
        return super()._targets(indices) - unscored

    def _coverage(self) -> tuple[int, Ints, Ints]:
        starts, stops = self._ranges(np.arange(len(self), dtype=np.int64))
        filled = int((stops - starts).sum())
        if self.loss_on == "last":  # of a window that ends with an unscored input, the one before it
            stops = stops - np.isin(stops - 1, self._joints)
            starts, stops = starts[stops > starts], stops[stops > starts]
        times = np.delete(times_scored(starts, stops, self._n, self.loss_on), self._joints)
        return filled, times, np.ones_like(times)


def times_scored(starts: Ints, stops: Ints, n: int, loss_on: str) -> Ints:
    """How many windows, which hold the inputs `starts[i]` to `stops[i] - 1`, score each of `n`: int64 [n]."""
    if loss_on == "last":
        return np.bincount(stops - 1, minlength=n)
    steps = np.bincount(starts, minlength=n + 1) - np.bincount(stops, minlength=n + 1)
    times: Ints = np.cumsum(steps)[:n]
    return times


WINDOWS: dict[str, type[Packing]] = {"stream": Stream}
WINDOWS |= {name: type(name, (DocumentWindows,), {"name": name}) for name in OFFSETS}
