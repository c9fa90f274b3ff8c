"""The order of sequences and documents: a keyed permutation, so that the state of the data is a few integers.

`permute` is a Feistel network over just enough bits with cycle walking (Black and Rogaway 2002): a bijection of 0..n-1
for each key, without a table. The numbers are the same on every machine and in every version; golden values in the
tests pin them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from slmmodel import rng
from slmmodel.data.packing import Ints
from slmmodel.errors import InvalidConfig
from slmmodel.rng import splitmix64

ROUNDS = 6
_CROP_KEY = 0x63757473
"""Separates crop offsets from the other numbers that follow from a seed and an epoch."""


def permute(k: Any, n: int, seed: int, epoch: int) -> Ints:
    """The images of `k` (int or array, in 0..n-1) under the permutation of 0..n-1 with this key; int64, same shape.

    Raises `InvalidConfig` for numbers out of range.
    """
    indices: Ints = np.asarray(k, dtype=np.int64)
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < n:
        raise InvalidConfig(f"cannot permute numbers outside 0 to {n - 1}", fix="use indices below the number of items")
    if n <= 1:
        return np.array(indices, dtype=np.int64)
    half = np.uint64(max(1, ((n - 1).bit_length() + 1) // 2))
    low = np.uint64((1 << int(half)) - 1)
    keys = _round_keys(seed, epoch)
    out = indices.reshape(-1).astype(np.uint64)
    walking = np.arange(out.size)
    while walking.size:
        value = out[walking]
        left, right = value >> half, value & low
        for key in keys:
            left, right = right, left ^ (splitmix64(right ^ key) & low)
        value = left << half | right
        out[walking] = value
        walking = walking[value >= np.uint64(n)]
    images: Ints = out.astype(np.int64).reshape(indices.shape)
    return images


@lru_cache(maxsize=16)
def _round_keys(seed: int, epoch: int) -> tuple[np.uint64, ...]:
    return tuple(np.uint64(rng.key(seed, epoch, turn)) for turn in range(ROUNDS))


def document_order(n_docs: int, seed: int, epoch: int) -> Ints:
    """The documents in the order of this epoch: int64 [n_docs]."""
    return permute(np.arange(n_docs, dtype=np.int64), n_docs, rng.key(seed), epoch)


def crop_offset(seq_len: int, seed: int, epoch: int) -> int:
    """Inputs before the first cut in this epoch, 0 to `seq_len - 1`, for `crop_offset: random`."""
    return rng.key(seed, _CROP_KEY, epoch) % seq_len
