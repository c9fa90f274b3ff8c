"""Bootstrap intervals of bits per byte. The unit of resampling is the document: its tokens depend on one another.

10,000 resamples from a fixed seed, percentile interval (Efron 1979). Few long documents are cut by bytes into segments
of 4 KiB; a token belongs to the segment of its last byte, so that two tokenizers are cut alike. Fewer than 20 units
give no interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.evaluation.scores import LN2, Scores

RESAMPLES, SEED, LEVEL = 10_000, 0, 0.95
LEAST_UNITS = 20
SEGMENT = 4096
MOST_UNITS = 20_000
_CHUNK = 1 << 22

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """Bounds in bits per byte, and what was resampled."""

    low: float
    high: float
    unit: str
    n_units: int
    level: float = LEVEL


class Units(NamedTuple):
    """Bits and bytes of each unit of resampling, float64; and what a unit is."""

    bits: Floats
    nbytes: Floats
    unit: str


def units(scores: Scores, *, content: bool = False) -> Units:
    """Documents where there are at least 20, else segments of 4 KiB of all of them."""
    if scores.n_docs >= LEAST_UNITS:
        nats = scores.content if content else scores.content + scores.special
        return Units(nats / LN2, scores.doc_bytes.astype(np.float64), "document")
    return segments(scores, content=content)


def segments(scores: Scores, *, content: bool = False, size: int = SEGMENT) -> Units:
    """Every document cut after each `size` bytes; an id without bytes belongs to where it stands."""
    bits: list[Floats] = []
    nbytes: list[Floats] = []
    for doc in range(scores.n_docs):
        part = slice(int(scores.offsets[doc]), int(scores.offsets[doc + 1]))
        own = scores.nbytes[part].astype(np.int64)
        nats = scores.nats[part]
        if content:
            nats = np.where(own > 0, nats, 0.0)
        total = int(scores.doc_bytes[doc])
        count = max(1, -(-total // size))
        # The last byte of a token at byte e - 1 of the document; a special takes the byte before it.
        where = np.minimum(np.maximum(np.cumsum(own) - 1, 0) // size, count - 1)
        bits.append(np.bincount(where, weights=nats, minlength=count) / LN2)
        nbytes.append(np.diff(np.append(np.arange(count) * size, total)).astype(np.float64))
    return Units(np.concatenate(bits or [np.empty(0)]), np.concatenate(nbytes or [np.empty(0)]), f"{size} bytes")


def interval(of: Units, *, resamples: int = RESAMPLES, seed: int = SEED, level: float = LEVEL) -> Interval | None:
    """The percentile interval of `sum(bits) / sum(bytes)`; None where there are too few units.

    For a paired difference, `bits` are the differences of two models on the same documents. Beyond 20,000 units
    neighbours are joined, which keeps the work flat.
    """
    count = len(of.bits)
    if count < LEAST_UNITS or not of.nbytes.sum():
        return None
    bits, nbytes = _grouped(of.bits), _grouped(of.nbytes)
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    step = max(1, _CHUNK // len(bits))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = rng.integers(0, len(bits), (size, len(bits)))
        means[start : start + size] = bits[drawn].sum(1) / np.maximum(nbytes[drawn].sum(1), 1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(low, high, of.unit, count, level)


def _grouped(values: Floats) -> Floats:
    if len(values) <= MOST_UNITS:
        return values
    borders = np.linspace(0, len(values), MOST_UNITS, endpoint=False).astype(np.int64)
    grouped: Floats = np.add.reduceat(values, borders)
    return grouped
