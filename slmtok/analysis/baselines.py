"""Baselines for a model of a text: byte n-grams and compressors that have read the training text.

N-grams have Witten-Bell smoothing (Witten and Bell, 1991): `p_0 = 1/256` and
`p_k(w|h) = (c(h,w) + N(h) p_{k-1}(w|h')) / (c(h) + N(h))` with the last k-1 bytes `h` of the same document, `h'`
without its oldest byte, `c(h)` the number of continuations of `h`, `N(h)` the number of distinct ones. If `c(h) = 0` or
the document is shorter than `h`, `p_k = p_{k-1}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ORDERS = 6


def witten_bell(train: Sequence[bytes], held_out: Sequence[bytes], orders: int = ORDERS) -> list[float]:
    """Bits per byte of `held_out` for the orders 1 to `orders` (at most 8); empty without bytes."""
    import numpy as np

    total = sum(map(len, held_out))
    if not total:
        return []
    chance = np.full(total, 1 / 256)
    bits: list[float] = []
    for (known, _), (queries, where) in zip(_codes(train, orders), _codes(held_out, orders), strict=True):
        grams, times = np.unique(known, return_counts=True)
        histories, first, distinct = np.unique(grams >> np.uint64(8), return_index=True, return_counts=True)
        followed = np.add.reduceat(times, first) if len(first) else times
        seen = _lookup(grams, times, queries)
        c = _lookup(histories, followed, queries >> np.uint64(8))
        n = _lookup(histories, distinct, queries >> np.uint64(8))
        before = chance[where]
        chance[where] = np.where(c > 0, (seen + n * before) / np.maximum(c + n, 1), before)
        bits.append(float(-np.log2(chance).sum() / total))
    return bits


def _codes(documents: Sequence[bytes], orders: int) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.intp]]]:
    """For each order: all n-grams as integers (last byte lowest), and the positions of their last bytes."""
    import numpy as np

    data = np.frombuffer(b"".join(documents), dtype=np.uint8).astype(np.uint64)
    sizes = np.array([len(document) for document in documents], dtype=np.int64)
    age = np.arange(len(data)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    codes = data.copy()
    for order in range(1, orders + 1):
        if order > 1:
            shift = np.uint64(8 * (order - 1))
            codes[order - 1 :] |= data[: max(0, len(data) - order + 1)] << shift
        where = np.flatnonzero(age >= order - 1)
        yield codes[where], where


def _lookup(keys: NDArray[np.uint64], values: NDArray[np.int64], queries: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The value of each query, 0 if it is not in the ascending `keys`."""
    import numpy as np

    if not len(keys):
        return np.zeros(len(queries), dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return np.where(keys[at] == queries, values[at], 0)


MAX_BYTES = 16_000_000
"""Limit of the training text and of the held-out text; the result has the sizes used."""


def baselines(train: Iterable[bytes], held_out: Sequence[bytes]) -> dict[str, object]:
    """Bits per byte of `held_out`: n-grams by order; each compressor after the training text, and alone."""
    import bz2
    import lzma

    # The 64 MiB of the preset cost 670 MB of memory; a dictionary of the size of the text finds as much.
    xz = {"id": lzma.FILTER_LZMA2, "preset": 9}
    compressors: dict[str, Callable[[bytes], bytes]] = {
        "bz2": lambda data: bz2.compress(data, 9),
        "xz": lambda data: lzma.compress(data, filters=[{**xz, "dict_size": max(4096, len(data))}]),
    }
    used = first_bytes(train, MAX_BYTES)
    prefix, text = b"".join(used), b"".join(held_out)
    found: dict[str, object] = {
        "ngram": {str(order): bits for order, bits in enumerate(witten_bell(used, held_out), 1)},
        "train_bytes": len(prefix),
        "bytes": len(text),
    }
    for name, compress in compressors.items():
        after_train = len(compress(prefix + text)) - len(compress(prefix))
        alone = len(compress(text))
        found[name] = {"after_train": 8 * after_train / max(1, len(text)), "alone": 8 * alone / max(1, len(text))}
    return found


def first_bytes(documents: Iterable[bytes], limit: int) -> list[bytes]:
    """The documents up to `limit` bytes in total, the last one truncated."""
    kept: list[bytes] = []
    left = limit
    for document in documents:
        kept.append(document[:left])
        left -= len(kept[-1])
        if left <= 0:
            break
    return kept
