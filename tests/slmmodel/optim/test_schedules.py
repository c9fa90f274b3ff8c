"""Every registered schedule: pure, in [0, 1], 0 at the end; formulas and their edge cases."""

from __future__ import annotations

import math

import pytest

from slmmodel.config import ScheduleConfig
from slmmodel.config_values import DECAY_SHAPES, OPTIMIZER_NAMES, SCHEDULE_KINDS
from slmmodel.errors import OptionError
from slmmodel.optim import OPTIMIZERS
from slmmodel.optim.schedules import SHAPES, Schedule, resolve


@pytest.mark.parametrize("kind", SCHEDULE_KINDS)
@pytest.mark.parametrize("steps", [1, 2, 7, 100, 5000])
def test_pure_and_bounded(kind, steps):
    schedule, _ = resolve(ScheduleConfig(kind=kind), steps)
    factors = [schedule(step) for step in range(steps)]
    assert all(0 <= factor <= 1 for factor in factors)
    assert [schedule(step) for step in reversed(range(steps))] == factors[::-1]
    if kind != "const" and steps > 2:
        assert 0 <= schedule(steps) <= 1e-12 and 0 <= schedule(10 * steps) <= 1e-12


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("final", [0.0, 0.1])
def test_wsd(shape, final):
    s = Schedule(steps=100, warmup=10, decay=20, final=final, shape=shape)
    assert [s(step) for step in (0, 4, 9, 10, 79)] == [0.1, 0.5, 1.0, 1.0, 1.0]
    assert s(80) == pytest.approx(1.0)
    x = 10 / 20
    falling = {"linear": x, "1-sqrt": 1 - math.sqrt(1 - x), "cosine": (1 - math.cos(math.pi * x)) / 2}[shape]
    assert s(90) == pytest.approx(final + (1 - final) * falling)
    assert s(100) == pytest.approx(final) and s(1000) == pytest.approx(final)


def test_cosine_and_linear():
    s, _ = resolve(ScheduleConfig(kind="cosine", warmup=10, final=0.1), 110)
    assert s(9) == 1.0 and s(10) == 1.0 and s(60) == pytest.approx(0.55) and s(110) == 0.1
    s, _ = resolve(ScheduleConfig(kind="linear", warmup=10), 110)
    assert s(4) == 0.5 and s(60) == pytest.approx(0.5) and s(110) == 0.0


@pytest.mark.parametrize(
    ("steps", "warmup", "decay"), [(480, 24, 192), (1999, 99, 799), (2000, 100, 400), (50_000, 500, 10_000)]
)
def test_defaults(steps, warmup, decay):
    schedule, warning = resolve(ScheduleConfig(), steps)
    assert (schedule.warmup, schedule.decay, warning) == (warmup, decay, None)


def test_shares_and_steps():
    assert resolve(ScheduleConfig(warmup=0.1, decay=0.5), 1000)[0].warmup == 100
    assert resolve(ScheduleConfig(warmup=7, decay=13), 1000)[0].decay == 13


def test_edges():
    with pytest.raises(OptionError, match="takes the whole run of 10"):
        resolve(ScheduleConfig(warmup=10), 10)
    schedule, warning = resolve(ScheduleConfig(warmup=40, decay=80), 100)
    assert schedule.decay == 60 and warning is not None and "shortened to 60" in warning
    with pytest.raises(ValueError, match="did you mean 'cosine'"):
        ScheduleConfig(kind="cosin")
    with pytest.raises(ValueError, match="one of linear"):
        ScheduleConfig(shape="square")


def test_the_names_that_settings_take_are_those_that_exist() -> None:
    assert tuple(OPTIMIZERS) == OPTIMIZER_NAMES and tuple(SHAPES) == DECAY_SHAPES
