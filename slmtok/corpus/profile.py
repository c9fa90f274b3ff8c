"""`CorpusProfile`: number and lengths of documents, exact duplicates, and the vocabulary size that a corpus supports.

A profile is filled while a corpus is read, in bounded memory. It depends on the set of documents alone, not on their
order, batches or parts. Up to `MAX_KEYS` distinct documents the number of duplicates is exact; beyond, documents are
sampled by hash and the number is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slmtok.indexing import explains_indexing
from slmtok.specials import FIRST_LEARNED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from slmtok.aliases import Token

MAX_KEYS = 1 << 22
_PENDING_KEYS = 1 << 16
_STEP_BITS = 5
"""A histogram step is 1/2^5 = 3 % wide."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
VOCAB_SIZES = (4096, 8192, 16384, 32768)
MIN_OCCURRENCES = 100
"""A model that trains on the same text sees a token too rarely if it was learned from fewer occurrences."""


@explains_indexing
@dataclass
class Lengths:
    """A histogram of lengths in bytes: exact below 64, then 32 steps per octave."""

    steps: dict[int, int] = field(default_factory=dict)
    shortest: int | None = None
    longest: int = 0
    total: int = 0
    number: int = 0

    def add(self, sizes: ArrayLike) -> None:
        """Adds documents of these sizes."""
        import numpy as np

        lengths = np.asarray(sizes, dtype=np.int64)
        if not lengths.size:
            return
        low = int(lengths.min())
        self.shortest = low if self.shortest is None else min(self.shortest, low)
        self.longest = max(self.longest, int(lengths.max()))
        self.total += int(lengths.sum())
        self.number += int(lengths.size)
        # A shift by whole octaves leaves 6 bits; the highest is set from the second octave on.
        octaves = np.maximum(np.frexp(lengths.astype(np.float64))[1] - _STEP_BITS - 1, 0)
        steps, counts = np.unique((octaves << (_STEP_BITS + 1)) + (lengths >> octaves), return_counts=True)
        for step, count in zip(steps.tolist(), counts.tolist(), strict=True):
            self.steps[step] = self.steps.get(step, 0) + count

    def merge(self, other: Lengths) -> None:
        """Adds the documents of another part of the corpus."""
        for step, count in other.steps.items():
            self.steps[step] = self.steps.get(step, 0) + count
        known = [length for length in (self.shortest, other.shortest) if length is not None]
        self.shortest = min(known, default=None)
        self.longest = max(self.longest, other.longest)
        self.total += other.total
        self.number += other.number

    def quantile(self, share: float) -> int:
        """The length that this share of the documents does not exceed, at most 3 % too large; 0 without documents."""
        rank = min(max(int(share * self.number), 0), self.number - 1)
        for step in sorted(self.steps):
            rank -= self.steps[step]
            if rank < 0:
                octave, rest = step >> (_STEP_BITS + 1), step & ((2 << _STEP_BITS) - 1)
                return min(((rest + 1) << octave) - 1, self.longest)
        return 0


@explains_indexing
@dataclass
class Duplicates:
    """Exact duplicates by 64-bit keys of documents. Only keys whose first `bits` bits are 0 are kept; at first all."""

    max_keys: int = MAX_KEYS
    bits: int = 0
    keys: NDArray[np.uint64] | None = None
    """Sorted and distinct; `times` says how often each occurred."""
    times: NDArray[np.int64] | None = None
    pending: list[NDArray[np.uint64]] = field(default_factory=list)
    n_pending: int = 0

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Adds documents by their keys."""
        kept = keys[keys < (1 << (64 - self.bits))] if self.bits else keys
        self.pending.append(kept)
        self.n_pending += len(kept)
        if self.n_pending >= max(_PENDING_KEYS, 0 if self.keys is None else len(self.keys) // 2):
            self.flush()

    def flush(self) -> None:
        """Adds the pending keys; while there are more than `max_keys`, keeps half of them."""
        import numpy as np

        new, often = np.unique(np.concatenate([np.empty(0, np.uint64), *self.pending]), return_counts=True)
        self.pending, self.n_pending = [], 0
        self._join(new, often)

    def merge(self, other: Duplicates) -> None:
        """Adds the documents of another part of the corpus."""
        other.flush()
        assert other.keys is not None and other.times is not None
        self.flush()
        self.bits = max(self.bits, other.bits)
        self._join(other.keys, other.times)

    def _join(self, new: NDArray[np.uint64], often: NDArray[np.int64]) -> None:
        """Adds distinct keys; while there are more than `max_keys`, keeps half of them."""
        import numpy as np

        keys = np.empty(0, np.uint64) if self.keys is None else self.keys
        sums = np.empty(0, np.int64) if self.times is None else self.times
        # Sorting both together would take 70 bytes a key.
        places = np.searchsorted(keys, new)
        is_known = places < len(keys)
        is_known[is_known] = keys[places[is_known]] == new[is_known]
        sums[places[is_known]] += often[is_known]
        places, new, often = places[~is_known], new[~is_known], often[~is_known]
        self.keys = self.times = None
        keys = np.insert(keys, places, new)
        sums = np.insert(sums, places, often)
        if self.bits:
            keys, sums = _below(keys, sums, self.bits)
        while len(keys) > self.max_keys:
            self.bits += 1
            keys, sums = _below(keys, sums, self.bits)
        self.keys, self.times = keys, sums

    @property
    def count(self) -> int:
        """Documents that equal an earlier one byte for byte; an estimate where `bits` is not 0."""
        self.flush()
        assert self.keys is not None and self.times is not None
        return (int(self.times.sum()) - len(self.keys)) << self.bits


def _below(
    keys: NDArray[np.uint64], times: NDArray[np.int64], bits: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    fewer = keys < (1 << (64 - bits))
    return keys[fewer], times[fewer]


@explains_indexing
@dataclass
class CorpusProfile:
    """Lengths and duplicates of the documents of a corpus."""

    lengths: Lengths = field(default_factory=Lengths)
    duplicates: Duplicates = field(default_factory=Duplicates)

    def add(self, sizes: ArrayLike, keys: NDArray[np.uint64]) -> None:
        """Adds documents: their sizes in bytes, and the first 8 bytes of the sha256 of each as keys, shape (n,)."""
        import numpy as np

        self.lengths.add(sizes)
        self.duplicates.add(keys.astype(np.uint64, copy=False))

    def merge(self, other: CorpusProfile) -> None:
        """Adds the documents of another part of the corpus."""
        self.lengths.merge(other.lengths)
        self.duplicates.merge(other.duplicates)

    def summary(self) -> dict[str, Any]:
        """The numbers, as `slmtok count` shows them and writes them as JSON."""
        lengths = self.lengths
        return {
            "documents": lengths.number,
            "bytes": lengths.total,
            "shortest": lengths.shortest or 0,
            "longest": lengths.longest,
            "mean": round(lengths.total / lengths.number, 1) if lengths.number else 0.0,
            "quantiles": {f"{share:g}": lengths.quantile(share) for share in QUANTILES},
            "duplicates": self.duplicates.count,
            "duplicates_exact": not self.duplicates.bits,
        }


@explains_indexing
@dataclass(frozen=True)
class SupportedVocab:
    """A vocabulary size, and a lower bound of the occurrences from which its rarest token is learned.

    is_possible: False where the pieces have fewer bytes than the size has merges.
    """

    vocab_size: int
    occurrences: int
    is_possible: bool = True

    @property
    def verdict(self) -> str:
        """`yes`; `thin` if some tokens may be learned from few occurrences; `no` if the bounds do not tell; `never`."""
        if not self.is_possible:
            return "never"
        return "yes" if self.occurrences >= MIN_OCCURRENCES else "thin" if self.occurrences >= 2 else "no"


def supported_vocabs(
    columns: Callable[[Callable[[Token], object]], object],
    distinct: int,
    vocab_sizes: Sequence[int] = VOCAB_SIZES,
    max_token_bytes: int = 64,
) -> list[SupportedVocab]:
    """Which vocabulary sizes the counts of a corpus support, without training.

    columns: calls back with the lengths of all pieces (u32), then their counts (u64), then other bytes, in blocks of
        any size: `Counts.columns` of the engine. distinct: the number of pieces.

    Training down to pairs that occur n times makes a token of every piece of two bytes and more that occurs n times: as
    long as such a piece has two parts, it has a pair that occurs as often. So the count of the k-th most frequent such
    piece is a lower bound of the count of the k-th merge. A merge joins two parts of some piece, which begins with as
    many parts as bytes: there are fewer merges than bytes.
    """
    import numpy as np

    top_k = max(max(vocab_sizes) - FIRST_LEARNED, 1)
    top = np.empty(0, np.uint64)
    fits = np.empty(distinct, np.bool_)
    held = bytearray()
    done, most_merges = 0, 0

    def take(block: Token) -> None:
        nonlocal top, done, most_merges
        if done >= 2 * distinct:
            return
        held.extend(block)
        if done < distinct:
            lengths = np.frombuffer(bytes(held[: min(len(held) // 4, distinct - done) * 4]), dtype="<u4")
            fits[done : done + len(lengths)] = (lengths >= 2) & (lengths <= (max_token_bytes or np.inf))
            most_merges += int(lengths.sum(dtype=np.uint64)) - len(lengths)
            del held[: lengths.nbytes]
            done += len(lengths)
        if done >= distinct:
            counts = np.frombuffer(bytes(held[: min(len(held) // 8, 2 * distinct - done) * 8]), dtype="<u8")
            del held[: counts.nbytes]
            chosen = counts[fits[done - distinct : done - distinct + len(counts)]]
            done += len(counts)
            top = np.sort(np.concatenate([top, chosen.astype(np.uint64)]))[::-1][:top_k]

    columns(take)
    counts, largest = top.tolist(), FIRST_LEARNED + most_merges
    return [SupportedVocab(size, _at(counts, size - FIRST_LEARNED), size <= largest) for size in vocab_sizes]


def _at(top: Sequence[int], rank: int) -> int:
    """The count of the piece of this rank, from 1; 0 beyond the last piece."""
    return int(top[rank - 1]) if 1 <= rank <= len(top) else 0
