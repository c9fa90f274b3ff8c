"""Learning-rate schedules: pure functions of the step, so no state of them is saved.

A schedule gives one factor in [0, 1] for each step; every parameter group multiplies its peak rate by it. WSD (warm-up,
stable, decay): Hu et al., MiniCPM, 2024; cosine: Loshchilov and Hutter, 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from slmmodel.config import ScheduleConfig
from slmmodel.config_values import check_warmup

SHAPES: dict[str, Callable[[float], float]] = {
    "linear": lambda x: x,
    "1-sqrt": lambda x: 1 - math.sqrt(1 - x),
    "cosine": lambda x: (1 - math.cos(math.pi * x)) / 2,
}
"""The decay: x falls from 1 to 0, and the factor from 1 to 0."""


@dataclass(frozen=True)
class Schedule:
    """A linear warm-up, a constant factor of 1, and a decay to `final`. Lengths are numbers of steps."""

    steps: int
    warmup: int = 0
    decay: int = 0
    final: float = 0.0
    """the factor that the step after the last would have"""
    shape: str = "linear"
    """of the decay"""

    def __call__(self, step: int) -> float:
        """The factor of a step."""
        warmup = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        if self.decay == 0 or step < self.steps - self.decay:
            return warmup
        left = max(0, self.steps - step) / self.decay
        return warmup * (self.final + (1 - self.final) * SHAPES[self.shape](left))


def resolve(config: ScheduleConfig, steps: int) -> tuple[Schedule, str | None]:
    """The schedule of a run of `steps`, and a warning where the decay was shortened to fit.

    Raises `OptionError` where the warm-up takes the whole run.
    """
    short = steps < 2000
    warmup = _steps(config.warmup, steps, int(steps * 0.05) if short else max(100, steps // 100))
    check_warmup(warmup, steps)
    longest = steps - warmup
    if config.kind != "wsd":
        shape, decay = ("linear", 0) if config.kind == "const" else (config.kind, longest)
        return Schedule(steps, warmup, decay, config.final, shape), None
    decay, warning = _steps(config.decay, steps, int(steps * (0.4 if short else 0.2))), None
    if decay > longest:
        warning = f"the decay of {decay} steps was shortened to {longest}: warm-up and decay exceed {steps} steps"
    return Schedule(steps, warmup, min(decay, longest), config.final, config.shape), warning


def _steps(value: float | None, steps: int, default: int) -> int:
    """A share of the run (below 1) or a number of steps as steps."""
    if value is None:
        return default
    return round(value * steps) if 0 < value < 1 else int(value)
