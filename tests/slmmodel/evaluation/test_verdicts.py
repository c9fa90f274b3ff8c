"""The three verdicts of an ablation, on synthetic bits with a known difference."""

from __future__ import annotations

import numpy as np
import pytest

from slmmodel.errors import InvalidInput
from slmmodel.evaluation.verdicts import analyse, holm, seeds_needed, t_quantile


def synthetic(rng, seeds=4, documents=200, delta=0.0, sigma=0.002):
    """Bits of two arms at about 2 bits per byte; `b` has `delta` (relative) more."""
    nbytes = rng.integers(500, 3000, documents)
    base = 2.0 * nbytes * rng.lognormal(0, 0.2, documents)
    noise = 1 + rng.normal(0, sigma, (2, seeds, 1))
    wobble = 1 + rng.normal(0, 0.01, (2, seeds, documents))
    a, b = base * noise * wobble
    return {"a": a, "b": b * (1 + delta)}, nbytes


def verdict(bits, nbytes, **more):
    (pair,) = analyse(bits, nbytes, baseline="a", margin=0.0025, resamples=500, **more).pairs
    return pair


def test_quantiles_of_t() -> None:
    found = [t_quantile(0.975, 2), t_quantile(0.975, 10), t_quantile(0.995, 5), t_quantile(0.975, 1e4)]
    assert found == pytest.approx([4.302653, 2.228139, 4.032143, 1.960201], abs=1e-6)


def test_equal_arms_win_rarely_and_planted_differences_are_found() -> None:
    rng = np.random.default_rng(1)
    null = [verdict(*synthetic(rng)) for _ in range(60)]
    assert sum(pair.better is not None for pair in null) <= 6
    found = [verdict(*synthetic(rng, delta=0.02)) for _ in range(30)]
    assert sum(pair.better == "a" for pair in found) >= 29
    assert all(pair.verdict.startswith("a is better than b: b minus a is +") for pair in found if pair.better)


def test_the_sentences() -> None:
    bits, nbytes = synthetic(np.random.default_rng(2))
    same = verdict({"a": bits["a"], "b": bits["a"]}, nbytes)
    assert (same.delta, same.interval, same.equivalent, same.better) == (0.0, (0.0, 0.0), True, None)
    assert "equivalent within 0.25%" in same.verdict
    open_one = verdict(*synthetic(np.random.default_rng(3), seeds=3, sigma=0.02))
    assert "No decision: the interval" in open_one.verdict and "more seeds would decide" in open_one.verdict
    assert open_one.more_seeds is not None and open_one.more_seeds > 10
    few = verdict(*synthetic(np.random.default_rng(3), seeds=2, delta=0.5))
    assert few.verdict.startswith("No decision: a verdict needs 3 seeds")
    assert verdict(bits, nbytes, exploratory=True).verdict.startswith("EXPLORATORY: ")
    with pytest.raises(InvalidInput, match="arms have the shapes"):
        verdict({"a": bits["a"], "b": bits["b"][:2]}, nbytes)


def test_levels_and_power() -> None:
    assert holm({"x": 0.01, "y": 0.04, "z": 0.03}, 0.05) == pytest.approx({"x": 0.05 / 3, "z": 0.025, "y": 0.025})
    assert seeds_needed(0.005, 0.003) == 7 and seeds_needed(0.001, 0.003) == 142
    assert seeds_needed(0.1, 0.003, paired=True) == 3
