"""The order of rows and of documents: a keyed permutation, so that the state of the data is a few integers.

`mix` is a step of splitmix64 (Steele, Lea, Flood 2014). `perm` is a Feistel network over just enough bits, walked until
it lands inside the range (cycle walking, Black and Rogaway 2002): a bijection of 0..n-1 for each key, without a table.
Numbers are the same on every machine and in every version; golden values in the tests hold them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import InvalidPlan

ROUNDS = 6
_MASK = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mix(x: int) -> int:
    """One step of splitmix64: a bijection of the 64-bit numbers that scatters them."""
    x = (x + _GOLDEN) & _MASK
    x = ((x ^ x >> 30) * _FIRST) & _MASK
    x = ((x ^ x >> 27) * _SECOND) & _MASK
    return x ^ x >> 31


def mix_array(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`mix` of each number; arithmetic wraps at 64 bits, as it shall."""
    x = x + np.uint64(_GOLDEN)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_SECOND)
    out: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return out


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
