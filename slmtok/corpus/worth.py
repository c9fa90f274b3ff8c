"""What a corpus is worth: its documents, their lengths, exact duplicates, and how large a vocabulary it can teach.

Everything here is filled while a corpus is read, in bounded memory, and depends on the set of documents alone: not on
their order, nor on how they come in batches or parts. Up to `MOST_KEYS` different documents duplicates are exact;
beyond, a share of them is followed, chosen by hash, and what it shows is scaled up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from slmtok.aliases import Token

MOST_KEYS = 1 << 22
_PENDING = 1 << 16
_FINE = 5
"""Lengths are told apart within 1/2^5 = 3 %."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
VOCABULARIES = (4096, 8192, 16384, 32768)
ENOUGH = 100
"""A token that is learned from fewer occurrences is seen too seldom by a model that trains on the same text."""
_NOT_LEARNED = 272
"""Ids that need no corpus: 16 specials and 256 bytes."""


@dataclass
class Lengths:
    """A histogram of lengths in bytes: exact below 64, then 32 steps an octave."""

    steps: dict[int, int] = field(default_factory=dict)
    least: int | None = None
    most: int = 0
    total: int = 0
    number: int = 0

    def add(self, sizes: ArrayLike) -> None:
        """Adds documents of these sizes."""
        import numpy as np

        lengths = np.asarray(sizes, dtype=np.int64)
        if not lengths.size:
            return
        low = int(lengths.min())
        self.least = low if self.least is None else min(self.least, low)
        self.most = max(self.most, int(lengths.max()))
        self.total += int(lengths.sum())
        self.number += int(lengths.size)
        # Shifting by whole octaves leaves 6 bits, of which the first is always set beyond the first octave.
        octaves = np.maximum(np.frexp(lengths.astype(np.float64))[1] - _FINE - 1, 0)
        steps, counts = np.unique((octaves << (_FINE + 1)) + (lengths >> octaves), return_counts=True)
        for step, count in zip(steps.tolist(), counts.tolist(), strict=True):
            self.steps[step] = self.steps.get(step, 0) + count

    def merge(self, other: Lengths) -> None:
        """Adds the documents of another part of the corpus."""
        for step, count in other.steps.items():
            self.steps[step] = self.steps.get(step, 0) + count
        known = [least for least in (self.least, other.least) if least is not None]
        self.least = min(known, default=None)
        self.most = max(self.most, other.most)
        self.total += other.total
        self.number += other.number

    def quantile(self, share: float) -> int:
        """The length that this share of the documents does not exceed, 3 % too large at most; 0 without documents."""
        rank = min(max(int(share * self.number), 0), self.number - 1)
        for step in sorted(self.steps):
            rank -= self.steps[step]
            if rank < 0:
                octave, rest = step >> (_FINE + 1), step & ((2 << _FINE) - 1)
                return min(((rest + 1) << octave) - 1, self.most)
        return 0


@dataclass
class Repeats:
    """Exact duplicates by 64-bit keys of documents: those whose first `bits` bits are 0 are followed, at first all."""

    most: int = MOST_KEYS
    bits: int = 0
    keys: NDArray[np.uint64] | None = None
    """Sorted; `times` says how often each came."""
    times: NDArray[np.int64] | None = None
    pending: list[NDArray[np.uint64]] = field(default_factory=list)
    waiting: int = 0

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Adds documents by their keys."""
        kept = keys[keys < (1 << (64 - self.bits))] if self.bits else keys
        self.pending.append(kept)
        self.waiting += len(kept)
        if self.waiting >= max(_PENDING, 0 if self.keys is None else len(self.keys) // 2):
            self.settle()

    def settle(self) -> None:
        """Takes in what is pending; while there are more keys than `most`, follows half of them."""
        import numpy as np

        new, often = np.unique(np.concatenate([np.empty(0, np.uint64), *self.pending]), return_counts=True)
        self.pending, self.waiting = [], 0
        self._join(new, often)

    def merge(self, other: Repeats) -> None:
        """Adds the documents of another part of the corpus."""
        other.settle()
        assert other.keys is not None and other.times is not None
        self.settle()
        self.bits = max(self.bits, other.bits)
        self._join(other.keys, other.times)

    def _join(self, new: NDArray[np.uint64], often: NDArray[np.int64]) -> None:
        """Adds keys that are each there once; then follows half of them as long as there are more than `most`."""
        import numpy as np

        known = np.empty(0, np.uint64) if self.keys is None else self.keys
        times = np.empty(0, np.int64) if self.times is None else self.times
        keys, places = np.unique(np.concatenate([known, new]), return_inverse=True)
        sums = np.zeros(len(keys), np.int64)
        np.add.at(sums, places, np.concatenate([times, often]))
        if self.bits:
            keys, sums = _below(keys, sums, self.bits)
        while len(keys) > self.most:
            self.bits += 1
            keys, sums = _below(keys, sums, self.bits)
        self.keys, self.times = keys, sums

    @property
    def duplicates(self) -> int:
        """Documents that came before, byte for byte; an estimate where `bits` is not 0."""
        self.settle()
        assert self.keys is not None and self.times is not None
        return (int(self.times.sum()) - len(self.keys)) << self.bits


def _below(
    keys: NDArray[np.uint64], times: NDArray[np.int64], bits: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    fewer = keys < (1 << (64 - bits))
    return keys[fewer], times[fewer]


@dataclass
class Worth:
    """What is known of the documents of a corpus once they have been read."""

    lengths: Lengths = field(default_factory=Lengths)
    repeats: Repeats = field(default_factory=Repeats)

    def add(self, sizes: Sequence[int], digests: Sequence[bytes]) -> None:
        """Adds documents: their sizes in bytes, and the sha256 of each, of which the first 8 bytes are the key."""
        import numpy as np

        self.add_keys(sizes, np.frombuffer(b"".join(digest[:8] for digest in digests), dtype="<u8"))

    def add_keys(self, sizes: ArrayLike, keys: NDArray[np.uint64]) -> None:
        """Adds documents: their sizes, shape (n,), and their keys, shape (n,)."""
        import numpy as np

        self.lengths.add(sizes)
        self.repeats.add(keys.astype(np.uint64, copy=False))

    def merge(self, other: Worth) -> None:
        """Adds the documents of another part of the corpus: the same as if all had been added here."""
        self.lengths.merge(other.lengths)
        self.repeats.merge(other.repeats)

    def summary(self) -> dict[str, Any]:
        """The numbers, as `slmtok count` shows them and writes them as JSON."""
        lengths = self.lengths
        return {
            "documents": lengths.number,
            "bytes": lengths.total,
            "shortest": lengths.least or 0,
            "longest": lengths.most,
            "mean": round(lengths.total / lengths.number, 1) if lengths.number else 0.0,
            "quantiles": {f"{share:g}": lengths.quantile(share) for share in QUANTILES},
            "duplicates": self.repeats.duplicates,
            "duplicates_exact": not self.repeats.bits,
        }


@dataclass(frozen=True)
class Taught:
    """A size of vocabulary, and from how many occurrences its rarest token would be learned, at least."""

    vocab: int
    occurrences: int

    @property
    def verdict(self) -> str:
        """`yes`; `thin` where some tokens would be learned from few occurrences; `no` where there are too few."""
        return "yes" if self.occurrences >= ENOUGH else "thin" if self.occurrences >= 2 else "no"


def taught(
    columns: Callable[[Callable[[Token], object]], object],
    distinct: int,
    vocabularies: Sequence[int] = VOCABULARIES,
    max_token_bytes: int = 64,
) -> list[Taught]:
    """Which vocabularies the counts of a corpus suffice for, without learning them.

    columns: calls back with the lengths of all pieces (u32), then their counts (u64), then other bytes, in blocks of
        any size: `Counts.columns` of the engine. distinct: how many pieces there are.

    Learning merges while a pair occurs n times makes a token of every piece of two bytes and more that occurs n times,
    because as long as such a piece has two parts it has a pair that occurs as often. So the k-th most frequent of these
    pieces bounds from below how often the k-th merge occurs where it is learned.
    """
    import numpy as np

    most = max(max(vocabularies) - _NOT_LEARNED, 1)
    top = np.empty(0, np.uint64)
    fits = np.empty(distinct, np.bool_)
    held = bytearray()
    done = 0

    def take(block: Token) -> None:
        nonlocal top, done
        if done >= 2 * distinct:
            return
        held.extend(block)
        if done < distinct:
            lengths = np.frombuffer(bytes(held[: min(len(held) // 4, distinct - done) * 4]), dtype="<u4")
            fits[done : done + len(lengths)] = (lengths >= 2) & (lengths <= (max_token_bytes or np.inf))
            del held[: lengths.nbytes]
            done += len(lengths)
        if done >= distinct:
            counts = np.frombuffer(bytes(held[: min(len(held) // 8, 2 * distinct - done) * 8]), dtype="<u8")
            del held[: counts.nbytes]
            chosen = counts[fits[done - distinct : done - distinct + len(counts)]]
            done += len(counts)
            top = np.sort(np.concatenate([top, chosen.astype(np.uint64)]))[::-1][:most]

    columns(take)
    return [Taught(size, _at(top.tolist(), size - _NOT_LEARNED)) for size in vocabularies]


def _at(top: Sequence[int], rank: int) -> int:
    """The count of the piece of this rank, from 1; 0 where there are not as many."""
    return int(top[rank - 1]) if 1 <= rank <= len(top) else 0
