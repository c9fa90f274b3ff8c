"""Verdicts of an ablation: is an arm better than the baseline, equivalent to it, or is nothing decided?

`bits` of an arm are float64 [seeds, documents]: bits of each document under the model of each seed. Seeds are paired
over arms, which share initial weights and the order of the data, and so are documents. Variance between seeds and
between documents add up; degrees of freedom are those of Welch (1947) and Satterthwaite (1946). Several arms are
compared with one baseline, with levels by Holm (1979).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.errors import InvalidInput

Floats = NDArray[np.float64]
MIN_SEEDS = 3
"""Below, nothing is decided."""
RESAMPLES = 10_000
SIGMA = 0.003
"""Standard deviation of bits per byte over seeds, relative, of runs of minutes: a prior until it is measured."""
POWER_FACTOR = 7.85
"""(1.96 + 0.84)^2: to see a difference at 5 % with 80 % power."""
SMALL_SAMPLE = 10
"""Below this number of seeds one more makes up for the t quantile."""
_RESAMPLED_VALUES = 1 << 22


@dataclass(frozen=True)
class Verdict:
    """An arm against the baseline; differences are arm minus baseline in bits per byte, negative where it is better."""

    arm: str
    baseline: str
    delta: float
    interval: tuple[float, float] | None
    """None below two seeds or two documents"""
    level: float
    """of the interval, corrected for the number of arms"""
    relative: float
    """`delta` as a share of the baseline's bits per byte"""
    p: float | None
    seeds: int
    documents: int
    better: str | None
    """the arm that is better, or None"""
    equivalent: bool
    more_seeds: int | None
    """about how many would decide a difference of the margin; None where nothing is open, or no number would"""
    verdict: str


@dataclass(frozen=True)
class Analysis:
    """Arms with their intervals, and each against the baseline."""

    arms: list[dict[str, Any]]
    pairs: list[Verdict]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        pairs = [{**asdict(pair), "interval": pair.interval and list(pair.interval)} for pair in self.pairs]
        return {"arms": self.arms, "pairs": pairs}


class _Estimate(NamedTuple):
    """A mean with its standard error and degrees of freedom; the error is None where it cannot be known."""

    mean: float
    error: float | None
    freedom: float
    seed_deviation: float

    def interval(self, alpha: float) -> tuple[float, float] | None:
        if self.error is None:
            return None
        half = self.error * t_quantile(1 - alpha / 2, self.freedom) if self.error else 0.0
        return self.mean - half, self.mean + half

    def p_value(self) -> float | None:
        if self.error is None:
            return None
        if not self.error:
            return 1.0 if self.mean == 0 else 0.0
        return 2 * t_tail(abs(self.mean) / self.error, self.freedom)


def analyse(
    bits: Mapping[str, Floats],
    nbytes: NDArray[np.int64],
    *,
    baseline: str,
    margin: float,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    exploratory: bool = False,
) -> Analysis:
    """Bits per byte of all arms, and the verdict on each against the baseline.

    `nbytes` int64 [documents]; `margin` is relative to the baseline's bits per byte. Raises `InvalidInput` for arms
    with other seeds or documents.
    """
    shapes = {array.shape for array in bits.values()}
    if len(shapes) != 1 or next(iter(shapes))[1] != len(nbytes):
        fix = "the same documents and seeds for all arms"
        raise InvalidInput(f"arms have the shapes {sorted(shapes)}, and there are {len(nbytes)} documents", fix=fix)
    estimates = {name: _estimate(array, nbytes, resamples) for name, array in bits.items()}
    arms = [
        {"name": name, "bpb": each.mean, "interval": _pair(each.interval(alpha))} for name, each in estimates.items()
    ]
    others = {
        name: _estimate(array - bits[baseline], nbytes, resamples) for name, array in bits.items() if name != baseline
    }
    reference, seeds = estimates[baseline].mean, len(bits[baseline])
    levels = holm({name: each.p_value() for name, each in others.items()}, alpha)
    pairs = [
        _verdict(name, baseline, each, levels[name], reference, margin, (seeds, len(nbytes)), exploratory)
        for name, each in others.items()
    ]
    return Analysis(arms, pairs)


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _estimate(bits: Floats, nbytes: NDArray[np.int64], resamples: int) -> _Estimate:
    """Bits per byte of `bits` [seeds, documents], or a paired difference, with the error of seeds and of documents."""
    seeds, documents = bits.shape
    by_seed = bits.sum(1) / nbytes.sum()
    mean, deviation = float(by_seed.mean()), float(by_seed.std(ddof=1)) if seeds > 1 else 0.0
    if seeds < 2 or documents < 2:
        return _Estimate(mean, None, 1.0, deviation)
    of_seeds, of_documents = deviation**2 / seeds, _document_variance(bits.mean(0), nbytes, resamples)
    total = of_seeds + of_documents
    shares = of_seeds**2 / (seeds - 1) + of_documents**2 / (documents - 1)
    return _Estimate(mean, math.sqrt(total), total**2 / shares if shares else 1.0, deviation)


def _document_variance(bits: Floats, nbytes: NDArray[np.int64], resamples: int, seed: int = 0) -> float:
    """The variance of `sum(bits) / sum(bytes)` over bootstrap resamples of documents."""
    if not bits.any():
        return 0.0
    rng, means = np.random.default_rng(seed), np.empty(resamples)
    for part in np.array_split(means, -(-resamples // max(1, _RESAMPLED_VALUES // len(bits)))):
        drawn = rng.integers(0, len(bits), (len(part), len(bits)))
        part[:] = bits[drawn].sum(1) / np.maximum(nbytes[drawn].sum(1), 1)
    return float(means.var(ddof=1))


def holm(p_values: Mapping[str, float | None], alpha: float) -> dict[str, float]:
    """The level of each comparison: alpha over the comparisons that are left, until one does not reject."""
    levels, step = {}, 0
    for name in sorted(p_values, key=lambda name: (math.inf if p_values[name] is None else p_values[name], name)):
        levels[name] = alpha / (len(p_values) - step)
        p = p_values[name]
        step += p is not None and p <= levels[name]
    return levels


def _verdict(
    arm: str,
    baseline: str,
    found: _Estimate,
    alpha: float,
    reference: float,
    margin: float,
    sizes: tuple[int, int],
    exploratory: bool,
) -> Verdict:
    interval, (seeds, documents) = found.interval(alpha), sizes
    is_open = interval is None or seeds < MIN_SEEDS
    low, high = interval or (-math.inf, math.inf)
    better = None if is_open or low <= 0 <= high else arm if high < 0 else baseline
    equivalent = not is_open and max(-low, high) <= margin * reference
    more = None if better or equivalent else _more_seeds(found, margin * reference, seeds)
    relative = found.mean / reference if reference else 0.0
    between = "" if interval is None else f"[{low / reference:+.2%}, {high / reference:+.2%}]"
    facts = f"{relative:+.2%} of bpb, {1 - alpha:.4g} interval {between}, {seeds} seeds, {documents:,} documents"
    if better is not None:
        other = baseline if better == arm else arm
        text = f"{better} is better than {other}: {arm} minus {baseline} is {facts}"
        text += f"; equivalent within {margin:.2%} as well" if equivalent else ""
    elif equivalent:
        text = f"{arm} and {baseline} are equivalent within {margin:.2%}: {arm} minus {baseline} is {facts}"
    elif interval is None or seeds < MIN_SEEDS:
        text = f"No decision: a verdict needs {MIN_SEEDS} seeds and two documents, not {seeds} and {documents:,}; "
        text += f"the difference is {relative:+.2%}"
    else:
        text = f"No decision: the interval {between} contains 0 and reaches beyond the margin of {margin:.2%}; "
        text += (
            f"about {more} more seeds would decide a difference of {margin:.2%}"
            if more is not None
            else f"{documents:,} documents are too few to decide a difference of {margin:.2%}, with any number of seeds"
        )
    text = f"EXPLORATORY: {text}" if exploratory else text
    p = found.p_value()
    level = 1 - alpha
    return Verdict(
        arm, baseline, found.mean, interval, level, relative, p, seeds, documents, better, equivalent, more, text
    )


def _more_seeds(found: _Estimate, difference: float, seeds: int) -> int | None:
    """About how many further seeds decide a difference; None where documents alone make the error too large."""
    if found.error is None:
        return max(MIN_SEEDS - seeds, 1)
    of_documents = max(found.error**2 - found.seed_deviation**2 / seeds, 0.0)
    left = difference**2 / POWER_FACTOR - of_documents
    if left <= 0:
        return None
    needed = math.ceil(found.seed_deviation**2 / left)
    return max(needed + (needed < SMALL_SAMPLE) - seeds, MIN_SEEDS - seeds, 1)


# ---------------------------------------------------------------- before training


def seeds_needed(difference: float, sigma: float = SIGMA, *, paired: bool = False) -> int:
    """Seeds of an arm to see a difference with 80 % power; of paired seeds, `sigma` is that of the differences."""
    needed = math.ceil((1 if paired else 2) * POWER_FACTOR * (sigma / difference) ** 2)
    return max(MIN_SEEDS, needed + (needed < SMALL_SAMPLE))


def detectable(seeds: int, sigma: float = SIGMA) -> float:
    """The relative difference that so many unpaired seeds show with 80 % power."""
    effective = seeds - 1 if seeds <= SMALL_SAMPLE else seeds
    return sigma * math.sqrt(2 * POWER_FACTOR / max(effective, 1))


def power_line(seeds: int, sigma: float = SIGMA) -> str:
    """What so many seeds can show, in one line."""
    if seeds < MIN_SEEDS:
        return f"{seeds} seeds decide nothing: a verdict needs {MIN_SEEDS}"
    shown = f"{seeds} seeds show differences above {detectable(seeds, sigma):.1%} with 80 % power"
    return f"at sigma = {sigma:.1%} of bpb, {shown}; for 0.5% use {seeds_needed(0.005, sigma)}; paired seeds show less"


# ---------------------------------------------------------------- Student's t


def t_tail(t: float, freedom: float) -> float:
    """P(T > t) for t >= 0, by the regularised incomplete beta function."""
    return 0.5 * _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def t_quantile(p: float, freedom: float) -> float:
    """The t with P(T <= t) = p, for p above one half; by bisection."""
    low, high = 0.0, 1.0
    while t_tail(high, freedom) > 1 - p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > 1 - p else (low, middle)
    return high


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) by its continued fraction (DLMF 8.17.22), evaluated by the method of Lentz."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) / a
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, 1000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / _nonzero(1 + term * d), _nonzero(1 + term / c)
            found *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return front * found


def _nonzero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300
