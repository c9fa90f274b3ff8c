"""Sequences as lists of spans of pairs: the interface that every packing and windowing strategy implements.

A document with ids `l_0 .. l_P` has `P` pairs; pair `i` is (input `l_i`, target `l_{i+1}`). A plan maps the index of a
sequence to spans of pairs. It depends on pair counts alone, never on token values, and is never stored.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import InvalidConfig

Ints = NDArray[np.int64]

CHOICES = {"loss_on": ("all", "last"), "long": ("split", "error", "drop")}
"""Values of the options of strategies that are words; the other options are integers from 1 up, or truth values."""


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


class Coverage(NamedTuple):
    """Totals over all sequences: positions that hold a pair, scored targets, and how often pairs are scored."""

    filled: int
    targets: int
    scored_min: int
    scored_max: int
    dropped: int
    """Pairs that are never scored."""


class Plan(ABC):
    """The sequences of one epoch over one block of documents.

    A strategy declares its options with their defaults in `OPTIONS`; `__init__` checks them and calls `_arrange`.
    Strategies with `grouped` yield groups of sequences of one length; a step takes one whole group. The loader permutes
    sequences, or groups, unless `sequential` is set.
    """

    name: ClassVar[str]
    OPTIONS: ClassVar[Mapping[str, Any]] = {}
    sequential: ClassVar[bool] = False
    grouped: ClassVar[bool] = False
    has_offset: ClassVar[bool] = False
    """Whether cuts may be shifted by `offset` pairs."""
    positions: ClassVar[str] = "reset"
    """Default position numbering; `slmmodel.data.batch` defines the three ways."""
    joined = False
    """True: the whole sequence has one doc_id. The pair from `</s>` to `<s>` is an input and is not scored."""

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
        if seq_len < 1:
            raise InvalidConfig(f"seq_len is {seq_len}", limit="at least 1", fix="set a positive seq_len")
        for option, value in given.items():
            if option not in self.OPTIONS:
                raise InvalidConfig(
                    f"the strategy {self.name!r} has no option {option!r}",
                    limit=f"options: {', '.join(sorted(self.OPTIONS)) or 'none'}",
                    fix="leave it out",
                )
            if option in CHOICES:
                check_choice(option, value, CHOICES[option], section="" if option == "loss_on" else "options.")
            elif not isinstance(value, bool) and value < 1:
                raise InvalidConfig(
                    f"{option} is {value}",
                    limit="at least 1",
                    fix=f"--set data.options.{option}={self.OPTIONS[option]}",
                )
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
        """The spans of a sequence, ascending and disjoint; the index is in range."""

    def spans(self, index: int) -> list[Span]:
        """The spans of a sequence, ascending and disjoint. Raises `InvalidConfig` for an index out of range."""
        if not 0 <= index < len(self):
            raise InvalidConfig(f"no sequence {index}", limit=f"0 to {len(self) - 1}", fix="use an index in range")
        return self._spans(index)

    def length(self, index: int) -> int:
        """Positions of a sequence: `seq_len`, except in the groups of `bucket`."""
        return self.seq_len

    @property
    def n_positions(self) -> int:
        """Positions of all sequences."""
        return len(self) * self.seq_len

    @abstractmethod
    def n_targets(self, indices: Ints) -> int:
        """Scored targets of these sequences; reads no token data."""

    @property
    def n_groups(self) -> int:
        """Groups that the loader permutes: single sequences unless `grouped`."""
        return len(self)

    def group(self, number: int) -> Ints:
        """The indices of the sequences of a group."""
        return np.array([number], dtype=np.int64)

    @abstractmethod
    def _n_cut(self) -> int:
        """Documents whose pairs are not all in one sequence, or not all placed."""

    def _coverage(self) -> Coverage:
        """Of a strategy that places each pair at most once."""
        targets, pairs = self.n_targets(np.arange(len(self), dtype=np.int64)), int(self.pairs.sum())
        return Coverage(targets, targets, int(targets == pairs > 0), int(targets > 0), pairs - targets)

    def stats(self) -> PlanStats:
        """Padding, targets, times scored, documents cut and pairs dropped."""
        found, pairs = self._coverage(), int(self.pairs.sum())
        return PlanStats(
            sequences=len(self),
            positions=self.n_positions,
            pairs=pairs,
            targets=found.targets,
            padding_share=1 - found.filled / self.n_positions if self.n_positions else 0.0,
            scored_min=found.scored_min,
            scored_mean=found.targets / pairs if pairs else 0.0,
            scored_max=found.scored_max,
            documents_cut=self._n_cut(),
            pairs_dropped=found.dropped,
        )

    @property
    def digest(self) -> str:
        """SHA-256 over everything that decides the sequences: 64 hexadecimal digits."""
        options = {name: value for name, value in self.options.items() if name != "loss_on"}
        options |= {"offset": self.offset} if self.offset else {}
        head = {"name": self.name, "seq_len": self.seq_len, "loss_on": self.loss_on, "options": options}
        digest = hashlib.sha256(json.dumps(head, sort_keys=True, default=str).encode())
        digest.update(np.ascontiguousarray(self.pairs, dtype="<i8").tobytes())
        return digest.hexdigest()


class EndToEnd(Plan):
    """Sequences that are ranges of all pairs, laid end to end in document order. 16 bytes a document."""

    def _arrange(self) -> None:
        self._lay(self.pairs)

    def _lay(self, sizes: Ints) -> None:
        """`sizes` int64 [n_docs]: the pairs of each document, in the order of the data."""
        self._starts = starts_of(sizes[self.order])
        self._total = int(self._starts[-1])

    @abstractmethod
    def _ranges(self, indices: Any) -> tuple[Any, Any]:
        """The first pair of each sequence and the one behind its last, for one index or many; a range that passes the
        end of the data continues at their beginning."""

    def _spans(self, index: int) -> list[Span]:
        start, stop = (int(bound) for bound in self._ranges(index))
        if stop <= self._total:
            return self._spans_of(start, stop, 0)
        head = self._spans_of(start, self._total, 0)
        return head + self._spans_of(max(start - self._total, 0), stop - self._total, max(self._total - start, 0))

    def _spans_of(self, start: int, stop: int, at: int) -> list[Span]:
        """The spans of pairs `start` to `stop - 1`, placed from position `at` on."""
        out: list[Span] = []
        # side="right" skips documents without pairs: the last document that starts at or before `start`.
        index = int(np.searchsorted(self._starts, start, side="right")) - 1
        while start < stop:
            first, end = int(self._starts[index]), int(self._starts[index + 1])
            take = min(end, stop)
            if take > start:
                out.append(Span(int(self.order[index]), start - first, take - first, at))
                at += take - start
                start = take
            index += 1
        return out

    def n_targets(self, indices: Ints) -> int:
        """See `Plan`."""
        starts, stops = self._ranges(np.asarray(indices, dtype=np.int64))
        return int((stops - starts).sum())

    def _n_cut(self) -> int:
        """Documents in which a sequence begins, other than at their first pair."""
        borders = self._ranges(np.arange(len(self), dtype=np.int64))[0] % max(1, self._total)
        owners = np.searchsorted(self._starts, borders, side="right") - 1
        return int(np.unique(owners[self._starts[owners] < borders]).size)


def pair_counts(lengths: Ints) -> Ints:
    """Pairs of documents with these numbers of ids (delimiters included): int64 [n_docs]."""
    return np.maximum(np.asarray(lengths, dtype=np.int64) - 1, 0)


def starts_of(counts: Ints) -> Ints:
    """Exclusive prefix sums of `counts` with the total appended: int64 [len(counts) + 1]."""
    out = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=out[1:])
    return out


def check_choice(option: str, value: object, choices: Sequence[str], *, section: str = "") -> None:
    """Raises `InvalidConfig` for a value of `data.SECTION.OPTION` that is not one of the choices."""
    if value not in choices:
        raise InvalidConfig(
            f"{option} is {value!r}",
            limit=f"one of {', '.join(choices)}",
            fix=f"--set data.{section}{option}={choices[0]}",
        )
