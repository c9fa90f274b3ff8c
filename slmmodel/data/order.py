"""The order of rows and of documents: a keyed permutation, so that the state of the data is a few integers.

`perm` is a Feistel network over just enough bits, walked until it lands inside the range
(cycle walking, Black and Rogaway 2002): a bijection of 0..n-1 for each key, without a table.
Numbers are the same on every machine and in every version; golden values in the tests hold them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import InvalidPlan
from slmmodel.mixing import mix as mix
from slmmodel.mixing import mix_array as mix_array

ROUNDS = 6
_CUTS = 0x63757473
"""Keeps the places of cuts apart from what else follows from a seed and an epoch."""
_MASK = (1 << 64) - 1


def perm(k: Any, n: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """Where the permutation of 0..n-1 with this key sends each number of `k` (int or array, all in 0..n-1).

    Returns int64 of the shape of `k`. Raises `InvalidPlan` for numbers out of range.
    """
    given: NDArray[np.int64] = np.asarray(k, dtype=np.int64)
    if given.size and not 0 <= int(given.min()) <= int(given.max()) < n:
        raise InvalidPlan(
            f"cannot permute numbers outside 0 to {n - 1}", fix="take row numbers below the number of rows"
        )
    if n <= 1:
        return np.array(given, dtype=np.int64)
    half = np.uint64(max(1, ((n - 1).bit_length() + 1) // 2))
    low = np.uint64((1 << int(half)) - 1)
    keys = [np.uint64(mix(mix(mix(seed & _MASK) ^ epoch) ^ turn)) for turn in range(ROUNDS)]
    out = given.reshape(-1).astype(np.uint64)
    walking = np.arange(out.size)
    while walking.size:
        value = out[walking]
        left, right = value >> half, value & low
        for key in keys:
            left, right = right, left ^ (mix_array(right ^ key) & low)
        value = left << half | right
        out[walking] = value
        walking = walking[value >= np.uint64(n)]
    moved: NDArray[np.int64] = out.astype(np.int64).reshape(given.shape)
    return moved


def document_order(n_docs: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """The documents in the order of this epoch: position -> document, int64 [n_docs]."""
    return perm(np.arange(n_docs, dtype=np.int64), n_docs, mix(seed & _MASK), epoch)


def cut_offset(context: int, seed: int, epoch: int) -> int:
    """How many pairs lie before the first cut in this epoch, 0 to `context` - 1, where cuts move."""
    return mix(mix(mix(seed & _MASK) ^ _CUTS) ^ epoch) % context


@dataclass(frozen=True)
class Order:
    """The order of the rows of a plan that is the same in each epoch: a step takes the next `rows_per_step`."""

    n_rows: int
    rows_per_step: int
    seed: int

    def rows(self, step: int) -> NDArray[np.int64]:
        """Epoch and row of each entry of a step, int64 [rows_per_step, 2]. A step may straddle epochs."""
        if self.n_rows < 1 or self.rows_per_step < 1:
            raise InvalidPlan("an order needs rows", fix="give more data, or shorter rows")
        entries = np.arange(step * self.rows_per_step, (step + 1) * self.rows_per_step, dtype=np.int64)
        epochs, numbers = entries // self.n_rows, entries % self.n_rows
        out = np.stack([epochs, numbers], axis=1)
        for epoch in np.unique(epochs).tolist():
            mine = epochs == epoch
            out[mine, 1] = perm(numbers[mine], self.n_rows, self.seed, epoch)
        return out
