"""Budgets: tokens, targets, bytes, FLOPs, time, epochs or steps, turned into a number of steps before the first one.

The number is frozen with the run, so that the schedule survives resumption. A step is a whole step: budgets round up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmmodel.errors import InvalidConfig
from slmmodel.training.settings import Budget

if TYPE_CHECKING:
    from slmmodel.training.ranks import Ranks


@dataclass(frozen=True)
class PerStep:
    """What one step costs on average, known without running one."""

    tokens: float
    """Slots of the global batch."""
    targets: float
    bytes: float
    flops: float
    epochs: float
    """Share of the data."""


def steps_for(budget: Budget, per_step: PerStep, *, seconds_per_step: float | None = None) -> int:
    """Steps that a budget pays for, at least 1. `seconds_per_step` is needed for `time`.

    Raises `InvalidConfig` where the data have nothing of what the budget counts.
    """
    cost = {
        "tokens": per_step.tokens,
        "targets": per_step.targets,
        "bytes": per_step.bytes,
        "flops": per_step.flops,
        "epochs": per_step.epochs,
        "time": seconds_per_step or 0.0,
        "steps": 1.0,
    }[budget.kind]
    if cost <= 0:
        raise InvalidConfig(
            f"a step costs no {budget.kind}, so no number of them is {budget.amount:g}",
            where="run.budget",
            fix="--budget tokens=2M",
            option="run.budget",
        )
    return max(1, math.ceil(budget.amount / cost - 1e-9))


def timed(step: Callable[[int], None], seconds: float, ranks: Ranks) -> float:
    """Seconds a step: the mean of as many as fit into `seconds`, at least two, after one that warms up."""
    step(0)
    began, count = time.perf_counter(), 0
    while True:
        step(count + 1)
        count += 1
        spent = ranks.largest([time.perf_counter() - began])[0]
        if count >= 2 and spent >= seconds:
            return spent / count
