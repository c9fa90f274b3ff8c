"""Byte n-grams with Witten-Bell smoothing (Witten and Bell, 1991): the bits per byte that counting alone reaches.

Static counts of the training text: `p_0 = 1/256`, `p_k(w|h) = (c(h,w) + N(h) p_{k-1}(w|h')) / (c(h) + N(h))`, where `h`
is the last k-1 bytes of the same document, `h'` is `h` without its oldest byte, `c(h)` is how often anything followed
it, `N(h)` how many different bytes did. Where `c(h) = 0`, or the document is too young, `p_k = p_{k-1}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ORDERS = 6


def witten_bell(train: Sequence[bytes], held_out: Sequence[bytes], orders: int = ORDERS) -> list[float]:
    """Bits per byte of `held_out` under the orders 1 to `orders` (8 at most); empty where it has no bytes."""
    import numpy as np

    total = sum(map(len, held_out))
    if not total:
        return []
    chance = np.full(total, 1 / 256)
    bits: list[float] = []
    for (known, _), (asked, where) in zip(_codes(train, orders), _codes(held_out, orders), strict=True):
        grams, times = np.unique(known, return_counts=True)
        histories, first, distinct = np.unique(grams >> np.uint64(8), return_index=True, return_counts=True)
        followed = np.add.reduceat(times, first) if len(first) else times
        seen = _lookup(grams, times, asked)
        c = _lookup(histories, followed, asked >> np.uint64(8))
        n = _lookup(histories, distinct, asked >> np.uint64(8))
        before = chance[where]
        chance[where] = np.where(c > 0, (seen + n * before) / np.maximum(c + n, 1), before)
        bits.append(float(-np.log2(chance).sum() / total))
    return bits


def _codes(documents: Sequence[bytes], orders: int) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.intp]]]:
    """For each order the n-grams of all documents as numbers, last byte lowest, and where their last bytes stand."""
    import numpy as np

    data = np.frombuffer(b"".join(documents), dtype=np.uint8).astype(np.uint64)
    sizes = np.array([len(document) for document in documents], dtype=np.int64)
    age = np.arange(len(data)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    codes = data.copy()
    for order in range(1, orders + 1):
        if order > 1:
            shift = np.uint64(8 * (order - 1))
            codes[order - 1 :] |= data[: len(data) - order + 1] << shift
        where = np.flatnonzero(age >= order - 1)
        yield codes[where], where


def _lookup(keys: NDArray[np.uint64], values: NDArray[np.int64], asked: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The value of each key, 0 for one that is not there. `keys` ascend."""
    import numpy as np

    if not len(keys):
        return np.zeros(len(asked), dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[at] == asked, values[at], 0)
