"""Sequences as lists of spans: the interface that every packing and windowing strategy implements.

A document of P + 1 ids has P pairs: pair `i` is the input id at `i` and its target, the id at `i + 1`. A plan maps the
index of a sequence to spans of pairs. It depends on numbers of pairs alone, never on ids, and is never stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import InvalidConfig

Ints = NDArray[np.int64]

CHOICES = {
    "crop_offset": ("random", "fixed"),
    "loss_on": ("all", "last"),
    "long": ("split", "error", "drop"),
    "positions": ("reset", "true", "row"),
}
"""Values of options that are words; the other options of strategies are integers from 1 up, or truth values."""


class Span(NamedTuple):
    """Pairs `lo` to `hi - 1` of document `doc`, at the positions `at` to `at + hi - lo - 1` of a sequence."""

    doc: int
    lo: int
    hi: int
    at: int


class PlanStats(NamedTuple):
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


class Plan(ABC):
    """The sequences of one epoch over one block of documents.

    A strategy declares its options with their defaults in `OPTIONS`; `__init__` checks them and calls `_arrange`.
    """

    name: ClassVar[str]
    OPTIONS: ClassVar[Mapping[str, Any]] = {}
    shuffled: ClassVar[bool] = True
    """Whether the loader permutes the sequences, or their batches where `batch_starts` defines these."""
    has_offset: ClassVar[bool] = False
    """Whether cuts may be shifted by `offset` pairs."""
    positions: ClassVar[str] = "reset"
    """Default position numbering; `slmmodel.data.batch` defines the three ways."""
    single_doc = False
    """True: the model sees each sequence as one document, with one document id."""
    batch_starts: Ints | None = None
    """Of a strategy that forms batches itself (`bucket`): the first sequence of each batch, and `len(self)`."""

    def __init__(
        self,
        pairs: Ints,
        seq_len: int,
        options: Mapping[str, Any] | None = None,
        *,
        order: Ints | None = None,
        offset: int = 0,
    ) -> None:
        """`pairs` int64 [n_docs]; `order` permutes documents before they are placed. Raises `InvalidConfig`."""
        given = options or {}
        check_range("seq_len", seq_len, 1, fix="set a positive seq_len")
        for option, value in given.items():
            if option not in self.OPTIONS:
                raise InvalidConfig(
                    f"the strategy {self.name!r} has no option {option!r}",
                    limit=f"options: {', '.join(sorted(self.OPTIONS)) or 'none'}",
                    fix="leave it out",
                )
            if option in CHOICES:
                check_choice(option, value)
            elif not isinstance(value, bool):
                check_range(option, value, 1, fix=f"--set data.options.{option}={self.OPTIONS[option]}")
        self.pairs, self.seq_len, self.offset = pairs, seq_len, offset
        self.order: Ints = np.arange(len(pairs), dtype=np.int64) if order is None else order
        self.options = {**self.OPTIONS, **given}
        self.loss_on = str(self.options.get("loss_on", "all"))
        self._arrange()

    @abstractmethod
    def _arrange(self) -> None:
        """Computes the index of the sequences from `pairs`, `order` and `options`."""

    @abstractmethod
    def __len__(self) -> int:
        """Sequences in one epoch."""

    @abstractmethod
    def _spans(self, index: int) -> list[Span]:
        """The spans of a sequence; the index is in range."""

    def spans(self, index: int) -> list[Span]:
        """The spans of a sequence, ascending and disjoint. Raises `InvalidConfig` for an index out of range."""
        check_range("the index of the sequence", index, 0, len(self) - 1, fix="use an index in range")
        return self._spans(index)

    def length(self, index: int) -> int:
        """Positions of a sequence: `seq_len`, except in `bucket`."""
        return self.seq_len

    @property
    def n_positions(self) -> int:
        """Positions of all sequences."""
        return len(self) * self.seq_len

    @abstractmethod
    def _ranges(self, indices: Any) -> tuple[Any, Any]:
        """The first pair of each sequence and the one behind its last, for one index or many. Pairs are numbered as the
        strategy lays them out."""

    def _targets(self, indices: Ints) -> Ints:
        """Scored targets of each of these sequences with `loss_on="all"`: int64 [n]."""
        starts, stops = self._ranges(indices)
        targets: Ints = stops - starts
        return targets

    def n_targets(self, indices: Ints) -> int:
        """Scored targets of these sequences; reads no token data."""
        targets = self._targets(np.asarray(indices, dtype=np.int64))
        return int((np.minimum(targets, 1) if self.loss_on == "last" else targets).sum())

    @abstractmethod
    def _n_cut(self) -> int:
        """Documents whose pairs are not all in one sequence, or not all placed."""

    def _coverage(self) -> tuple[int, Ints, Ints]:
        """Positions that hold a pair, and (times, pairs): `pairs[i]` pairs of the data are scored `times[i]` times.

        Here: of a strategy that places each pair at most once.
        """
        targets = self.n_targets(np.arange(len(self), dtype=np.int64))
        return targets, np.array([1, 0]), np.array([targets, int(self.pairs.sum()) - targets])

    def stats(self) -> PlanStats:
        """Padding, targets, times scored, documents cut and pairs dropped."""
        filled, times, pairs = self._coverage()
        total, targets, scored = int(self.pairs.sum()), int(times @ pairs), times[pairs > 0]
        return PlanStats(
            sequences=len(self),
            positions=self.n_positions,
            pairs=total,
            targets=targets,
            padding_share=1 - filled / self.n_positions if self.n_positions else 0.0,
            scored_min=int(scored.min(initial=targets)),
            scored_mean=targets / total if total else 0.0,
            scored_max=int(scored.max(initial=0)),
            documents_cut=self._n_cut(),
            pairs_dropped=int(pairs[times == 0].sum()),
        )


class EndToEnd(Plan):
    """Sequences that are ranges of all pairs, laid end to end in document order. 16 bytes a document.

    A range that passes the end of the data continues at their beginning.
    """

    def _arrange(self) -> None:
        self._lay(self.pairs)

    def _lay(self, sizes: Ints) -> None:
        """`sizes` int64 [n_docs]: the pairs of each document, in the order of the data."""
        self._starts = starts_of(sizes[self.order])
        self._total = int(self._starts[-1])

    def _spans(self, index: int) -> list[Span]:
        start, stop = (int(bound) for bound in self._ranges(index))
        left, start, at = stop - start, start % max(1, self._total), 0
        # side="right" skips documents without pairs: the last document that starts at or before `start`.
        number = int(self._starts.searchsorted(start, side="right")) - 1
        spans: list[Span] = []
        while left:
            first, end = int(self._starts[number]), int(self._starts[number + 1])
            size = min(end - start, left)
            if size:
                spans.append(Span(int(self.order[number]), start - first, start - first + size, at))
            at, left, start, number = at + size, left - size, end, number + 1
            if number == len(self.order):
                start = number = 0
        return spans

    def _n_cut(self) -> int:
        """Documents in which a sequence begins, other than at their first pair."""
        borders = self._ranges(np.arange(len(self), dtype=np.int64))[0] % max(1, self._total)
        owners = np.searchsorted(self._starts, borders, side="right") - 1
        return int(np.unique(owners[self._starts[owners] < borders]).size)


def pair_counts(lengths: Ints) -> Ints:
    """Pairs of documents with these numbers of ids (delimiters included): int64 [n_docs]."""
    return np.maximum(np.asarray(lengths, dtype=np.int64) - 1, 0)


def starts_of(counts: NDArray[np.integer[Any]]) -> Ints:
    """Exclusive prefix sums of `counts` with the total appended: int64 [len(counts) + 1]."""
    out = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=out[1:])
    return out


def check_choice(option: str, value: object) -> None:
    """Raises `InvalidConfig` for a value of an option that is not one of its `CHOICES`."""
    choices = CHOICES[option]
    if value not in choices:
        name = "options.long" if option == "long" else option
        fix = f"--set data.{name}={choices[0]}"
        raise InvalidConfig(f"{option} is {value!r}", limit=f"one of {', '.join(choices)}", fix=fix)


def check_range(name: str, value: int, least: int, most: int | None = None, *, fix: str) -> None:
    """Raises `InvalidConfig` for a number below `least` or above `most`."""
    if value < least or (most is not None and value > most):
        limit = f"at least {least}" if most is None else f"{least} to {most}"
        raise InvalidConfig(f"{name} is {value}", limit=limit, fix=fix)
