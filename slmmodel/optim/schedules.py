"""Learning-rate schedules: pure functions of the step, so no state of them is saved.

A schedule returns one factor in [0, 1] for step s of N; each parameter group multiplies its peak rate by it. `warmup`
and `decay` are numbers of steps. WSD (warm-up, stable, decay): Hu et al., MiniCPM, 2024; cosine: Loshchilov and Hutter,
2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slmmodel.errors import OptionError, unknown_name

if TYPE_CHECKING:
    from slmmodel.config import ScheduleConfig

SHAPES: dict[str, Callable[[float], float]] = {
    "linear": lambda x: x,
    "1-sqrt": lambda x: 1 - math.sqrt(1 - x),
    "cosine": lambda x: (1 - math.cos(math.pi * x)) / 2,
}
"""The decay of `wsd`: x falls from 1 to 0, and the factor from 1 to 0."""


@dataclass(frozen=True)
class Schedule:
    """A schedule with resolved numbers, called with a step."""

    kind: str = "wsd"
    steps: int = 1
    warmup: int = 0
    decay: int = 0
    final: float = 0.0
    shape: str = "linear"

    def __call__(self, step: int) -> float:
        """The factor of a step."""
        return SCHEDULES[self.kind](self, step)


def _warmup(s: Schedule, step: int) -> float:
    return min(1.0, (step + 1) / s.warmup) if s.warmup else 1.0


def wsd(s: Schedule, step: int) -> float:
    """Warm-up, a plateau, and a decay to `final` over the last `decay` steps."""
    if s.decay == 0 or step < s.steps - s.decay:
        return _warmup(s, step)
    left = max(0, s.steps - step) / s.decay
    return _warmup(s, step) * (s.final + (1 - s.final) * SHAPES[s.shape](left))


def cosine(s: Schedule, step: int) -> float:
    """Warm-up, then half a cosine down to `final` at step N."""
    if step < s.warmup:
        return (step + 1) / s.warmup
    if step >= s.steps:
        return s.final
    progress = (step - s.warmup) / (s.steps - s.warmup)
    return s.final + (1 - s.final) * (1 + math.cos(math.pi * progress)) / 2


def linear(s: Schedule, step: int) -> float:
    """Warm-up, then a straight line down to `final` at step N."""
    if step < s.warmup:
        return (step + 1) / s.warmup
    if step >= s.steps:
        return s.final
    return s.final + (1 - s.final) * (s.steps - step) / (s.steps - s.warmup)


def const(s: Schedule, step: int) -> float:
    """Warm-up, then 1."""
    return _warmup(s, step)


SCHEDULES: dict[str, Callable[[Schedule, int], float]] = {
    "wsd": wsd,
    "cosine": cosine,
    "linear": linear,
    "const": const,
}


def resolve(config: ScheduleConfig, steps: int) -> tuple[Schedule, str | None]:
    """The schedule of a run of `steps`, and a warning where the decay was shortened to fit.

    Raises `UnknownName` for an unknown kind or shape, `OptionError` where the warm-up takes the whole run.
    """
    for option, name, known in (
        ("optim.schedule.kind", config.kind, list(SCHEDULES)),
        ("optim.schedule.shape", config.shape, list(SHAPES)),
    ):
        if name not in known:
            raise unknown_name(option, name, known, f"--set {option}={{}}", option=option)
    short = steps < 2000
    warmup = _steps(config.warmup, steps, int(steps * 0.05) if short else max(100, steps // 100))
    if warmup >= steps and warmup:
        raise OptionError(
            f"optim.schedule.warmup of {warmup} steps takes the whole run of {steps}",
            limit="fewer steps than the run has",
            fix="--set optim.schedule.warmup=0.05, or a larger budget",
            option="optim.schedule.warmup",
        )
    schedule = Schedule(config.kind, steps, warmup, 0, config.final, config.shape)
    if config.kind != "wsd":
        return schedule, None
    decay = _steps(config.decay, steps, int(steps * (0.4 if short else 0.2)))
    if warmup + decay <= steps:
        return replace(schedule, decay=decay), None
    warning = f"the decay of {decay} steps was shortened to {steps - warmup}: warm-up and decay exceed {steps} steps"
    return replace(schedule, decay=steps - warmup), warning


def _steps(value: float | None, steps: int, default: int) -> int:
    if value is None:
        return default
    return round(value * steps) if 0 < value < 1 else int(value)
