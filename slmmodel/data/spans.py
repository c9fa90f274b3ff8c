"""Rows as lists of spans of pairs, and what every plan promises.

A document with ids `l_0 .. l_P` has `P` pairs; pair `i` is (input `l_i`, target `l_{i+1}`). A plan is a pure function
from a row number to spans, made of pair counts alone: never of token values, never stored.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import InvalidPlan

Ordering = Literal["shuffled", "sequential"]
LossOn = Literal["all", "last"]


class Span(NamedTuple):
    """Pairs `lo` to `hi - 1` of document `doc`, in the slots from `at` on."""

    doc: int
    lo: int
    hi: int
    at: int


@dataclass(frozen=True)
class PlanStats:
    """What one epoch of a plan is made of. `scored` counts how often a pair of the data is scored."""

    rows: int
    slots: int
    pairs: int
    targets: int
    padding_share: float
    scored_min: int
    scored_mean: float
    scored_max: int
    documents_cut: int
    pairs_dropped: int

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self)


def pair_counts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs of documents with these numbers of ids."""
    return np.maximum(np.asarray(lengths, dtype=np.int64) - 1, 0)


def starts_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each part begins when parts of these sizes lie end to end; one more entry for the end."""
    out = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=out[1:])
    return out


class Plan(ABC):
    """Rows of one epoch of one block. A unit is what the order of data permutes: a row, or a group of rows."""

    name: str
    ordering: ClassVar[Ordering] = "shuffled"
    grouped: ClassVar[bool] = False
    """A step takes one unit, which is a whole group of rows."""
    positions: ClassVar[str] = "reset"
    """What positions count unless somebody says otherwise: see `slmmodel.data.assemble`."""
    loss_on: LossOn = "all"
    joined = False
    """Documents of a row are one text: pairs from one to the next stand there, unscored."""

    def __init__(self, pairs: NDArray[np.int64], context: int, **options: object) -> None:
        if context < 1:
            raise InvalidPlan(f"a context of {context} slots holds nothing", fix="take a context of 1 or more")
        self.pairs, self.context, self.options = pairs, context, options

    @abstractmethod
    def __len__(self) -> int:
        """Rows in one epoch."""

    @abstractmethod
    def spans(self, row: int) -> list[Span]:
        """The spans of a row, by ascending `at`, never overlapping. Raises `InvalidPlan` for a number out of range."""

    def width(self, row: int) -> int:
        """Slots of a row: the context, except in buckets."""
        return self.context

    def n_targets(self, rows: NDArray[np.int64]) -> int:
        """Scored targets of these rows, without touching token data."""
        return sum(span.hi - span.lo for row in rows for span in self.spans(int(row)))

    @property
    def n_units(self) -> int:
        """Rows, or groups of rows where a step takes a whole group."""
        return len(self)

    def unit(self, index: int) -> NDArray[np.int64]:
        """The rows of a unit."""
        return np.array([index], dtype=np.int64)

    @abstractmethod
    def stats(self) -> PlanStats:
        """Padding, targets, how often each is scored, what is cut and what is dropped."""

    @property
    def digest(self) -> str:
        """Covers all that decides the rows: 64 hexadecimal digits."""
        head = {"name": self.name, "context": self.context, "loss_on": self.loss_on, "options": self.options}
        digest = hashlib.sha256(json.dumps(head, sort_keys=True, default=str).encode())
        digest.update(np.ascontiguousarray(self.pairs, dtype="<i8").tobytes())
        return digest.hexdigest()

    def _check_row(self, row: int) -> None:
        if not 0 <= row < len(self):
            raise InvalidPlan(f"there is no row {row} among {len(self)}", fix="take rows from 0 up", row=row)


def plan_stats(
    plan: Plan, targets: int, held: int, slots: int, scored: tuple[int, int], cut: int, dropped: int
) -> PlanStats:
    """Statistics from the few numbers that differ between plans; of all `slots`, `held` hold a pair."""
    pairs = int(plan.pairs.sum())
    return PlanStats(
        rows=len(plan),
        slots=slots,
        pairs=pairs,
        targets=targets,
        padding_share=1 - held / slots if slots else 0.0,
        scored_min=scored[0],
        scored_mean=targets / pairs if pairs else 0.0,
        scored_max=scored[1],
        documents_cut=cut,
        pairs_dropped=dropped,
    )


def ordered(pairs: NDArray[np.int64], order: NDArray[np.int64] | None) -> NDArray[Any]:
    """Pair counts in plan order; the order None is the order of the data."""
    return pairs if order is None else pairs[order]
