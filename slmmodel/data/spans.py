"""Sequences as lists of spans of pairs: the interface that every packing and windowing strategy implements.

A document with ids `l_0 .. l_P` has `P` pairs; pair `i` is (input `l_i`, target `l_{i+1}`). A plan maps the index of a
sequence to spans of pairs. It depends on pair counts alone, never on token values, and is never stored.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import InvalidPlan

Ints = NDArray[np.int64]
LossOn = Literal["all", "last"]


class Span(NamedTuple):
    """Pairs `lo` to `hi - 1` of document `doc`, at the positions `at` to `at + hi - lo - 1` of a sequence."""

    doc: int
    lo: int
    hi: int
    at: int


@dataclass(frozen=True)
class PlanStats:
    """Totals of one epoch. `scored_*` count how often a pair of the data is a scored target."""

    sequences: int
    positions: int
    pairs: int
    targets: int
    padding_share: float
    scored_min: int
    scored_mean: float
    scored_max: int
    documents_cut: int
    pairs_dropped: int

    def to_dict(self) -> dict[str, object]:
        """JSON-compatible values."""
        return asdict(self)


class Plan(ABC):
    """The sequences of one epoch over one block of documents.

    `order` permutes documents before they are placed. Strategies with `grouped` yield groups of sequences of one
    length; a step takes one whole group. The loader permutes sequences, or groups, unless `sequential` is set.
    """

    name: ClassVar[str]
    sequential: ClassVar[bool] = False
    grouped: ClassVar[bool] = False
    positions: ClassVar[str] = "reset"
    """Default position numbering; `slmmodel.data.batch` defines the three ways."""
    loss_on: LossOn = "all"
    joined = False
    """True where a sequence is one text for the model: pairs across documents are inputs but not targets."""

    def __init__(self, pairs: Ints, seq_len: int, **options: object) -> None:
        if seq_len < 1:
            raise InvalidPlan(f"seq_len is {seq_len}", limit="at least 1", fix="set a positive seq_len")
        self.pairs, self.seq_len, self.options = pairs, seq_len, options

    @abstractmethod
    def __len__(self) -> int:
        """Sequences in one epoch."""

    @abstractmethod
    def spans(self, index: int) -> list[Span]:
        """The spans of a sequence, ascending and disjoint. Raises `InvalidPlan` for an index out of range."""

    def length(self, index: int) -> int:
        """Positions of a sequence: `seq_len`, except in the groups of `bucket`."""
        return self.seq_len

    def n_targets(self, indices: Ints) -> int:
        """Scored targets of these sequences; reads no token data."""
        return sum(span.hi - span.lo for index in indices for span in self.spans(int(index)))

    @property
    def n_groups(self) -> int:
        """Groups that the loader permutes: single sequences unless `grouped`."""
        return len(self)

    def group(self, number: int) -> Ints:
        """The indices of the sequences of a group."""
        return np.array([number], dtype=np.int64)

    @abstractmethod
    def stats(self) -> PlanStats:
        """Padding, targets, times scored, documents cut and pairs dropped."""

    @property
    def digest(self) -> str:
        """SHA-256 over everything that decides the sequences: 64 hexadecimal digits."""
        head = {"name": self.name, "seq_len": self.seq_len, "loss_on": self.loss_on, "options": self.options}
        digest = hashlib.sha256(json.dumps(head, sort_keys=True, default=str).encode())
        digest.update(np.ascontiguousarray(self.pairs, dtype="<i8").tobytes())
        return digest.hexdigest()

    def _check_index(self, index: int) -> None:
        if not 0 <= index < len(self):
            raise InvalidPlan(f"no sequence {index}", limit=f"0 to {len(self) - 1}", fix="use an index in range")

    def _stats(
        self, *, targets: int, filled: int, positions: int, scored: tuple[int, int], cut: int, dropped: int = 0
    ) -> PlanStats:
        """Statistics from the numbers that differ between plans; `filled` of all `positions` hold a pair."""
        pairs = int(self.pairs.sum())
        return PlanStats(
            sequences=len(self),
            positions=positions,
            pairs=pairs,
            targets=targets,
            padding_share=1 - filled / positions if positions else 0.0,
            scored_min=scored[0],
            scored_mean=targets / pairs if pairs else 0.0,
            scored_max=scored[1],
            documents_cut=cut,
            pairs_dropped=dropped,
        )


class ConcatenatedPairs:
    """Maps ranges of all pairs, laid end to end in document order, to spans. 8 bytes a document, 16 with an order."""

    def __init__(self, pairs: Ints, order: Ints | None) -> None:
        self.order = order
        self.starts = starts_of(in_order(pairs, order))

    @property
    def total(self) -> int:
        """All pairs."""
        return int(self.starts[-1])

    def spans(self, start: int, stop: int, at: int = 0) -> list[Span]:
        """The spans of pairs `start` to `stop - 1`, placed from position `at` on."""
        out: list[Span] = []
        # side="right" skips documents without pairs: the last document that starts at or before `start`.
        index = int(np.searchsorted(self.starts, start, side="right")) - 1
        while start < stop:
            first, end = int(self.starts[index]), int(self.starts[index + 1])
            take = min(end, stop)
            if take > start:
                doc = index if self.order is None else int(self.order[index])
                out.append(Span(doc, start - first, take - first, at))
                at += take - start
                start = take
            index += 1
        return out

    def n_cut(self, borders: Ints) -> int:
        """How many documents have at least one of these borders inside them."""
        inside = borders[(borders > 0) & (borders < self.total)]
        owners = np.searchsorted(self.starts, inside, side="right") - 1
        return int(np.unique(owners[self.starts[owners] < inside]).size)


def pair_counts(lengths: Ints) -> Ints:
    """Pairs of documents with these numbers of ids (delimiters included): int64 [n_docs]."""
    return np.maximum(np.asarray(lengths, dtype=np.int64) - 1, 0)


def starts_of(counts: Ints) -> Ints:
    """Exclusive prefix sums of `counts` with the total appended: int64 [len(counts) + 1]."""
    out = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=out[1:])
    return out


def in_order(pairs: Ints, order: Ints | None) -> Ints:
    """Pair counts in plan order; None keeps the order of the data."""
    return pairs if order is None else pairs[order]
