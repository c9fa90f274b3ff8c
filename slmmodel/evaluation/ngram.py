"""Witten-Bell byte n-grams (Witten, Bell 1991): what counting alone makes of the training bytes.

Static counts, interpolated: `p_0 = 1/256` and `p_k(w|h) = (c(h,w) + N(h) p_{k-1}(w|h')) / (c(h) + N(h))`, where `h` is
the last k-1 bytes of the same document, `h'` the same without its oldest byte, `c(h)` how often it was followed by
anything, `N(h)` by how many different bytes. `p_k = p_{k-1}` where `c(h) = 0` or the document has begun too recently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint64]
MOST_ORDERS = 8
"""Bytes of an n-gram that fit a number of 64 bits."""


class Table(NamedTuple):
    """Counts of one order: n-grams as numbers, ascending, and their histories, ascending."""

    grams: Codes
    counts: NDArray[np.int64]
    histories: Codes
    followed: NDArray[np.int64]
    distinct: NDArray[np.int64]


def grams_of(documents: Sequence[bytes], order: int) -> Codes:
    """All n-grams of `order` bytes that lie within a document, as numbers whose last byte is the lowest."""
    parts: list[Codes] = []
    for document in documents:
        data = np.frombuffer(document, dtype=np.uint8).astype(np.uint64)
        size = len(data) - order + 1
        if size > 0:
            codes = np.zeros(size, dtype=np.uint64)
            for place in range(order):
                codes = codes << np.uint64(8) | data[place : place + size]
            parts.append(codes)
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def count(documents: Sequence[bytes], order: int) -> Table:
    """The counts of one order."""
    grams, counts = np.unique(grams_of(documents, order), return_counts=True)
    # Ascending n-grams have ascending histories: those of one history are neighbours.
    histories, first, distinct = np.unique(grams >> np.uint64(8), return_index=True, return_counts=True)
    followed = np.add.reduceat(counts, first) if len(first) else counts
    return Table(grams, counts.astype(np.int64), histories, followed.astype(np.int64), distinct.astype(np.int64))


def _found(sorted_keys: Codes, values: NDArray[np.int64], keys: Codes) -> NDArray[np.int64]:
    """The value of each key, 0 where it is not there."""
    if not len(sorted_keys):
        return np.zeros(len(keys), dtype=np.int64)
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[at] == keys, values[at], 0)


def witten_bell(train: Sequence[bytes], val: Sequence[bytes], orders: int = 6) -> list[float]:
    """Bits per byte of the documents `val` under the orders 1 to `orders`, counted on the documents `train`."""
    if not 1 <= orders <= MOST_ORDERS:
        raise ValueError(f"orders must be from 1 to {MOST_ORDERS}")
    sizes = [len(document) for document in val]
    total = sum(sizes)
    if not total:
        return [float("nan")] * orders
    # The place of each byte in its document says which orders have a history.
    place = np.concatenate([np.arange(size) for size in sizes])
    chances = np.full(total, 1 / 256)
    out = []
    for order in range(1, orders + 1):
        table = count(train, order)
        long_enough = place >= order - 1
        grams = grams_of(val, order)
        followed = _found(table.histories, table.followed, grams >> np.uint64(8))
        distinct = _found(table.histories, table.distinct, grams >> np.uint64(8))
        seen = _found(table.grams, table.counts, grams)
        before = chances[long_enough]
        mixed = (seen + distinct * before) / np.maximum(followed + distinct, 1)
        chances[long_enough] = np.where(followed > 0, mixed, before)
        out.append(float(-np.log2(chances).sum() / total))
    return out
