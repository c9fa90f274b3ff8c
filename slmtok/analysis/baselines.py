"""Baselines for a model of a text: byte n-grams and compressors that have read the training text.

N-grams have Witten-Bell smoothing (Witten and Bell, 1991): `p_0 = 1/256` and
`p_k(w|h) = (c(h,w) + N(h) p_{k-1}(w|h')) / (c(h) + N(h))` with the last k-1 bytes `h` of the same document, `h'`
without its oldest byte, `c(h)` the number of continuations of `h`, `N(h)` the number of distinct ones. If `c(h) = 0` or
the document is shorter than `h`, `p_k = p_{k-1}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from slmtok.envelope import MAX_BASELINE_BYTES, MAX_XZ_DICT_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ORDERS = 6
_STEP_BYTES = 1 << 16
"""Python runs no signal handler within one call of a compressor; one of this size takes xz about 0.05 s."""
_BLOCK_BYTES = 1 << 18
"""Text whose n-grams one call of numpy sorts or looks up, for the same reason."""
_PART_BYTES = 1 << 20
"""Training text whose n-grams are in memory at once, on average; those of one order take up to 28 bytes each."""


class _Text(NamedTuple):
    """Documents one behind another."""

    data: bytearray
    age: bytearray
    """Of each byte how many bytes of the same document precede it, at most 8."""

    @staticmethod
    def of(documents: Iterable[bytes]) -> _Text:
        text, first = _Text(bytearray(), bytearray()), bytes(range(8))
        for document in documents:
            text.data.extend(document)
            text.age.extend(first[: len(document)].ljust(len(document), b"\x08"))
        return text

    def positions(self, part: int, n_parts: int) -> Iterator[NDArray[np.intp]]:
        """The positions of a part in ascending order, in blocks. The two bytes before a position choose its part."""
        import numpy as np

        data = np.frombuffer(self.data, np.uint8)
        for begin in range(0, max(1, len(data)), _BLOCK_BYTES):
            at = np.arange(begin, min(begin + _BLOCK_BYTES, len(data)))
            if n_parts > 1:
                before, last = (data[np.maximum(at - back, 0)] for back in (2, 1))
                history = before.astype(np.uint16) << np.uint16(8) | last
                # Multiplied by 2^16 over the golden ratio (Fibonacci hashing): neighbours go to different parts.
                at = at[(history * np.uint16(40503) >> np.uint16(8)) % np.uint16(n_parts) == part]
            yield at

    def grams(self, at: NDArray[np.intp], order: int) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        """The n-grams that end at positions, as integers (last byte lowest), and which positions have one."""
        import numpy as np

        data, age = np.frombuffer(self.data, np.uint8), np.frombuffer(self.age, np.uint8)
        where = np.flatnonzero(age[at] >= order - 1)
        codes = np.zeros(len(where), np.uint64)
        for back in range(order):
            codes |= data[at[where] - back].astype(np.uint64) << np.uint64(8 * back)
        return codes, where


class _Counts(NamedTuple):
    """The n-grams of one order in ascending order with their counts; histories with c(h) and N(h)."""

    grams: NDArray[np.uint64]
    times: NDArray[np.uint32]
    histories: NDArray[np.uint64]
    followed: NDArray[np.uint32]
    distinct: NDArray[np.uint32]

    @staticmethod
    def of(text: _Text, positions: Iterable[NDArray[np.intp]], order: int) -> _Counts:
        import numpy as np

        found = [np.unique(text.grams(at, order)[0], return_counts=True) for at in positions]
        grams = np.concatenate([each for each, _ in found])
        times = np.concatenate([each.astype(np.uint32) for _, each in found])
        del found
        # Blocks are sorted, and a stable sort merges sorted runs.
        merged = np.argsort(grams, kind="stable")
        grams, times = grams[merged], times[merged]
        del merged
        first = _first_of_equals(grams)
        grams, times = grams[first], _sums(times, first)
        histories = grams >> np.uint64(8)
        first = _first_of_equals(histories)
        distinct = np.diff(first, append=len(grams)).astype(np.uint32)
        return _Counts(grams, times, histories[first], _sums(times, first), distinct)


def _first_of_equals(keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Where each of the different values of ascending `keys` begins."""
    import numpy as np

    return np.flatnonzero(np.concatenate([np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1]]))


def _sums(values: NDArray[np.uint32], first: NDArray[np.intp]) -> NDArray[np.uint32]:
    """The sum of each run of values, of which `first` are the first."""
    import numpy as np

    return np.add.reduceat(values, first, dtype=np.uint32) if len(first) else values


def witten_bell(train: Iterable[bytes], held_out: Iterable[bytes], orders: int = ORDERS) -> list[float]:
    """Bits per byte of `held_out` for the orders 1 to `orders` (at most 8); empty without bytes."""
    return _witten_bell(_Text.of(train), _Text.of(held_out), orders)


def _witten_bell(known: _Text, text: _Text, orders: int) -> list[float]:
    import numpy as np

    if not text.data:
        return []
    n_parts = -(-len(known.data) // _PART_BYTES) or 1
    # Positions of several parts share histories of less than two bytes.
    short = [_Counts.of(known, known.positions(0, 1), order) for order in range(1, min(orders, 2) + 1)]
    bits = [0.0] * orders
    for part in range(n_parts):
        positions = list(known.positions(part, n_parts))
        counts = [*short, *(_Counts.of(known, positions, order) for order in range(3, orders + 1))]
        for at in text.positions(part, n_parts):
            chance = np.full(len(at), 1 / 256)
            for order, (grams, times, histories, followed, distinct) in enumerate(counts, 1):
                queries, where = text.grams(at, order)
                (seen,) = _lookup(grams, queries, times)
                c, n = _lookup(histories, queries >> np.uint64(8), followed, distinct)
                before = chance[where]
                chance[where] = np.where(c > 0, (seen + n * before) / np.maximum(c + n, 1), before)
                bits[order - 1] -= float(np.log2(chance).sum())
    return [each / len(text.data) for each in bits]


def _lookup(
    keys: NDArray[np.uint64], queries: NDArray[np.uint64], *values: NDArray[np.uint32]
) -> list[NDArray[np.uint32]]:
    """Of each array of values that of each query, 0 if the query is not in the ascending `keys`."""
    import numpy as np

    if not len(keys):
        return [np.zeros(len(queries), np.uint32) for _ in values]
    at = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    is_known = keys[at] == queries
    return [np.where(is_known, each[at], np.uint32(0)) for each in values]


class _Compressor(Protocol):
    def compress(self, data: bytearray, /) -> bytes: ...
    def flush(self) -> bytes: ...


def baselines(train: Iterable[bytes], held_out: Iterable[bytes]) -> dict[str, object]:
    """Bits per byte of `held_out`: n-grams by order; each compressor after the training text, and alone.

    Both texts are read up to `MAX_BASELINE_BYTES`.
    """
    import bz2
    import lzma

    def xz(size: int) -> _Compressor:
        dict_size = min(max(4096, size), MAX_XZ_DICT_BYTES)
        return lzma.LZMACompressor(filters=[{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": dict_size}])

    compressors: dict[str, Callable[[int], _Compressor]] = {"bz2": lambda size: bz2.BZ2Compressor(9), "xz": xz}
    known, text = _Text.of(first_bytes(train, MAX_BASELINE_BYTES)), _Text.of(first_bytes(held_out, MAX_BASELINE_BYTES))
    found: dict[str, object] = {
        "ngram": {str(order): bits for order, bits in enumerate(_witten_bell(known, text, ORDERS), 1)},
        "train_bytes": len(known.data),
        "bytes": len(text.data),
    }
    # The memory of both goes to xz.
    for each in (known, text):
        each.age.clear()
    for name, compressor in compressors.items():
        before, both, alone = (
            _compressed_size(compressor, *parts) for parts in ([known.data], [known.data, text.data], [text.data])
        )
        size = max(1, len(text.data))
        found[name] = {"after_train": 8 * (both - before) / size, "alone": 8 * alone / size}
    return found


def _compressed_size(compressor: Callable[[int], _Compressor], *parts: bytearray) -> int:
    open_compressor = compressor(sum(map(len, parts)))
    size = 0
    for part in parts:
        for begin in range(0, len(part), _STEP_BYTES):
            size += len(open_compressor.compress(part[begin : begin + _STEP_BYTES]))
    return size + len(open_compressor.flush())


def first_bytes(documents: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The documents up to `limit` bytes in total, the last one truncated."""
    for document in documents:
        yield document[:limit]
        limit -= len(document)
        if limit <= 0:
            break
