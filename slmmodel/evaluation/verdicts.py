"""The verdicts of an ablation: is an arm better than the baseline, equivalent to it, or is nothing decided?

The error of a difference has two parts: the spread of the paired differences over seeds, and the paired bootstrap of
the documents on bits averaged over seeds. Their squares are added, which is slightly conservative. The quantile is
that of a mixture of Student's t with the degrees of freedom of each part, weighted by its share of the squared error
(in the manner of Cochran and Cox 1950): simulated false winners are 3.6 to 5.2 %. Degrees of freedom after
Satterthwaite give 8 % with 3 seeds, because a small spread by chance also raises them. Comparisons of several arms with
one baseline are adjusted by Holm's method (Holm 1979). Differences, margins and spreads are shares of the bits per byte
of the baseline unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.checks import MIN_RESAMPLES, check_int
from slmmodel.errors import InvalidInput
from slmmodel.evaluation.comparison import MIN_UNITS, RESAMPLES, Floats, bootstrap_means
from slmmodel.indexing import explains_indexing
from slmmodel.sizes import counted

ALPHA, POWER = 0.05, 0.8
MIN_SEEDS = 3
"""With fewer seeds the only verdict is "no decision"."""
PRIOR_SIGMA = 0.003
"""Standard deviation of the bits per byte of runs of minutes, over seeds; an estimate until it is measured."""
PRIOR_DOC_SIGMA = 0.02
"""Standard deviation of the difference of two arms over documents, as a share of the bits per byte; an estimate: 1 to
6 % in the study of vocabularies (docs/studies)."""
_MAX_SEEDS = 10_000
_NORMAL = NormalDist()

Parts = Sequence[tuple[float, float]]

Kind = Literal["better", "worse", "equivalent", "no decision"]


@explains_indexing
@dataclass(frozen=True)
class Verdict:
    """One arm against the baseline."""

    arm: str
    baseline: str
    delta: float
    """bits per byte of the arm minus those of the baseline, mean over seeds: negative where the arm is better"""
    relative: float
    """`delta` as a share of the baseline's bits per byte"""
    interval: tuple[float, float] | None
    """of `delta`, after Holm: it excludes 0 exactly where `adjusted_p` is below alpha"""
    relative_interval: tuple[float, float] | None
    level: float
    """confidence of the intervals"""
    seeds: int
    units: int
    unit: str
    """what was resampled: `document`, or `4096 bytes` of fewer than 20 documents"""
    p: float | None
    """two-sided"""
    adjusted_p: float | None
    """`p` after Holm"""
    kind: Kind
    equivalent: bool
    """the whole interval lies within the margin; an arm can be better and equivalent"""
    more_seeds: int | None
    """without a decision: further seeds of each arm that decide a difference of the margin with 80 % power"""
    verdict: str
    """the sentence"""


@explains_indexing
@dataclass(frozen=True)
class ArmMean:
    """Bits per byte of an arm, mean over seeds, with its interval; None below 2 seeds or 20 documents."""

    name: str
    bpb: float
    interval: tuple[float, float] | None


@explains_indexing
@dataclass(frozen=True)
class Analysis:
    """All arms, and every arm but the baseline against it."""

    arms: list[ArmMean]
    pairs: list[Verdict]

    def to_json(self) -> dict[str, Any]:
        """The entries `arms` and `pairs` of a view: of one thing that is equal over the arms, such as bytes.

        See docs/formats/ablation.md.
        """
        return {"arms": [asdict(arm) for arm in self.arms], "pairs": [asdict(pair) for pair in self.pairs]}


class _Estimate(NamedTuple):
    """A mean over seeds, its squared errors from seeds and documents, and their degrees of freedom."""

    mean: float
    seed_error2: float
    seed_df: float
    doc_error2: float
    doc_df: float

    @property
    def error(self) -> float:
        return math.sqrt(self.seed_error2 + self.doc_error2)

    @property
    def parts(self) -> Parts:
        """The share of each part in the squared error, and its degrees of freedom."""
        total = self.seed_error2 + self.doc_error2
        share = self.seed_error2 / total if total else 1.0
        return (share, self.seed_df), (1 - share, self.doc_df)

    def interval(self, alpha: float) -> tuple[float, float] | None:
        """None with one seed, or with fewer than 20 documents."""
        if math.isnan(self.error):
            return None
        reach = t_quantile(alpha, self.parts) * self.error
        return self.mean - reach, self.mean + reach

    def p(self) -> float | None:
        """Of the two-sided test of a mean of 0."""
        if math.isnan(self.error):
            return None
        if not self.error:
            return float(self.mean == 0)
        return min(1.0, 2 * t_tail(abs(self.mean) / self.error, self.parts))


def analyse(
    bits: Mapping[str, Floats],
    nbytes: NDArray[np.int64],
    baseline: str,
    margin: float,
    alpha: float = ALPHA,
    resamples: int = RESAMPLES,
    exploratory: bool = False,
    unit: str = "document",
) -> Analysis:
    """Compares every arm with the baseline.

    bits: bits of each document, float64 [seeds, documents] of each arm; row j of all arms belongs to the same seed.
    Arms with different numbers of seeds are compared unpaired (Welch). nbytes: bytes of each document, int64
    [documents]. margin: largest difference that does not matter, a share of the baseline's bits per byte. unit: what
    stands in the place of documents, such as `4096 bytes`. exploratory: the plan was changed after the first run, and
    each verdict says so.
    Raises `InvalidInput` for arms that do not fit together and for losses that are not finite.
    """
    _check(bits, nbytes, baseline)
    check_int("resamples", resamples, MIN_RESAMPLES, RESAMPLES)
    others = [arm for arm in bits if arm != baseline]
    per_seed = {arm: of_arm.sum(1) / nbytes.sum() for arm, of_arm in bits.items()}
    mean_bits = {arm: of_arm.mean(0) for arm, of_arm in bits.items()}
    rows = [*mean_bits.values(), *(mean_bits[arm] - mean_bits[baseline] for arm in others)]
    doc_errors2 = _doc_errors2(np.array(rows), nbytes, resamples)
    doc_df = len(nbytes) - 1
    samples = [(per_seed[arm],) for arm in bits] + [(per_seed[arm], per_seed[baseline]) for arm in others]
    estimates = [_Estimate(*_seed_part(*of), error2, doc_df) for of, error2 in zip(samples, doc_errors2, strict=True)]
    arms = [ArmMean(arm, one.mean, one.interval(alpha)) for arm, one in zip(bits, estimates, strict=False)]
    differences = estimates[len(bits) :]
    ps = [one.p() for one in differences]
    adjusted, alphas = holm([1.0 if p is None else p for p in ps], alpha)
    scale = _Scale(float(per_seed[baseline].mean()), margin, len(nbytes), unit, exploratory)
    pairs = []
    for arm, one, p, adjusted_p, level_alpha in zip(others, differences, ps, adjusted, alphas, strict=True):
        seeds = min(len(bits[arm]), len(bits[baseline]))
        pairs.append(_verdict(arm, baseline, one, p, None if p is None else adjusted_p, level_alpha, seeds, scale))
    return Analysis(arms, pairs)


class _Scale(NamedTuple):
    """What all comparisons of an analysis share."""

    bpb: float
    """of the baseline"""
    margin: float
    units: int
    unit: str
    exploratory: bool


def _check(bits: Mapping[str, Floats], nbytes: NDArray[np.int64], baseline: str) -> None:
    if baseline not in bits:
        raise InvalidInput(
            f"no arm is named {baseline!r}", limit=f"arms: {', '.join(bits)}", fix="name one as baseline"
        )
    for arm, of_arm in bits.items():
        if of_arm.ndim != 2 or not len(of_arm) or of_arm.shape[1] != len(nbytes):
            shape, fix = f"arm {arm!r} has bits of shape {of_arm.shape}", "evaluate all arms on the same documents"
            raise InvalidInput(shape, limit=f"[seeds, {len(nbytes)}]", fix=fix)
        if not np.isfinite(of_arm).all():
            row = int(np.flatnonzero(~np.isfinite(of_arm).all(1))[0])
            fact, fix = f"arm {arm!r} has a loss that is not finite", "lower its learning rate, or leave the arm out"
            raise InvalidInput(fact, where=f"seed number {row}", limit="finite numbers", fix=fix)
    if not nbytes.sum():
        raise InvalidInput("the documents have no bytes", limit="at least 1 byte", fix="evaluate on other documents")


def _doc_errors2(rows: Floats, nbytes: NDArray[np.int64], resamples: int) -> list[float]:
    """The squared standard error of every row from its documents; NaN with fewer than 20 documents."""
    if len(nbytes) < MIN_UNITS:
        return [math.nan] * len(rows)
    found: list[float] = bootstrap_means(rows, nbytes, resamples=resamples).var(axis=1, ddof=1).tolist()
    return found


def _seed_part(a: Floats, b: Floats | None = None) -> tuple[float, float, float]:
    """Mean, squared error and degrees of freedom of `a`, or of `a - b`: paired where both have as many seeds."""
    if b is not None and len(a) == len(b):
        a, b = a - b, None
    parts = [(float(x.var(ddof=1)) / len(x) if len(x) > 1 else math.nan, len(x) - 1.0) for x in (a, b) if x is not None]
    mean = float(a.mean() - (0.0 if b is None else b.mean()))
    return mean, sum(error2 for error2, _ in parts), _satterthwaite(parts)


def _verdict(
    arm: str, baseline: str, one: _Estimate, p: float | None, adjusted_p: float | None, alpha: float, seeds: int,
    scale: _Scale,
) -> Verdict:  # fmt: skip
    interval = one.interval(alpha)
    relative = None if interval is None else (interval[0] / scale.bpb, interval[1] / scale.bpb)
    kind: Kind = "no decision"
    equivalent = False
    if relative is not None and seeds >= MIN_SEEDS:
        equivalent = -scale.margin < relative[0] and relative[1] < scale.margin
        kind = "better" if relative[1] < 0 else "worse" if relative[0] > 0 else "equivalent" if equivalent else kind
    more = None
    if kind == "no decision" and scale.units >= MIN_UNITS:
        sigma = math.sqrt(one.seed_error2 * seeds) / scale.bpb if seeds > 1 else PRIOR_SIGMA * math.sqrt(2)
        doc_error = 0.0 if math.isnan(one.doc_error2) else math.sqrt(one.doc_error2) / scale.bpb
        needed = seeds_needed(scale.margin, sigma, paired=True, doc_error=doc_error, alpha=alpha)
        more = None if needed is None else max(1, needed - seeds)
    found = Verdict(
        arm, baseline, one.mean, one.mean / scale.bpb, interval, relative, 1 - alpha, seeds, scale.units,
        scale.unit, p, adjusted_p, kind, equivalent, more, "",
    )  # fmt: skip
    return replace(found, verdict=("EXPLORATORY: " if scale.exploratory else "") + _sentence(found, scale.margin))


def _sentence(of: Verdict, margin: float) -> str:
    """The verdict in words; differences in per cent of the baseline's bits per byte."""
    bounds = (
        "" if of.relative_interval is None else " [{:+.2f}, {:+.2f}]".format(*(100 * x for x in of.relative_interval))
    )
    within = f"equivalent within {100 * margin:g} %"
    units = counted(of.units, of.unit if of.unit == "document" else "part") + (
        "" if of.unit == "document" else f" of at most {of.unit}"
    )
    evidence = f"{counted(of.seeds, 'seed')}, {units}"
    if of.kind != "no decision":
        first, second = (of.baseline, of.arm) if of.kind == "worse" else (of.arm, of.baseline)
        sign = -1 if of.kind == "worse" else 1
        # The sentence names the better arm first, so its difference is negative.
        low, high = sorted(100 * sign * x for x in of.relative_interval or ())
        delta = f"δ = {100 * sign * of.relative:+.2f} % of bpb, {100 * of.level:.4g} % [{low:+.2f}, {high:+.2f}]"
        claim = f"{first} and {second} are {within}" if of.kind == "equivalent" else f"{first} is better than {second}"
        also = f", and {within}" if of.equivalent and of.kind != "equivalent" else ""
        return f"{claim}{also}: {delta}, {evidence}"
    undecided = f"No decision between {of.arm} and {of.baseline}"
    if of.units < MIN_UNITS:
        few = f", and train at least {MIN_SEEDS} seeds" if of.seeds < MIN_SEEDS else ""
        return f"{undecided}: {units} give no interval, at least {MIN_UNITS} do: evaluate on more text{few}"
    if of.seeds < MIN_SEEDS:
        why = f"{counted(of.seeds, 'seed')} an arm of at least {MIN_SEEDS}"
    else:
        why = f"the {100 * of.level:.4g} % interval{bounds} % of bpb contains 0 and reaches beyond the margin"
    decides = f"a difference of {100 * margin:g} %"
    if of.more_seeds is None:
        return f"{undecided}: {why}; no number of seeds decides {decides} on {units}: evaluate on more"
    return f"{undecided}: {why}; about {counted(of.more_seeds, 'more seed')} would decide {decides}"


def holm(ps: Sequence[float], alpha: float) -> tuple[list[float], list[float]]:
    """Adjusted p-values, and the alpha of the interval of each comparison.

    The interval of a comparison at `1 - alpha_i` excludes 0 exactly where its adjusted p is below `alpha`: from the
    first comparison that is not rejected on, alpha_i stays what it is there.
    """
    count = len(ps)
    adjusted, alphas = [0.0] * count, [0.0] * count
    highest, share, rejecting = 0.0, alpha, True
    for rank, index in enumerate(sorted(range(count), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, (count - rank) * ps[index]))
        share = alpha / (count - rank) if rejecting else share
        rejecting = rejecting and highest < alpha
        adjusted[index], alphas[index] = highest, share
    return adjusted, alphas


def seeds_needed(
    difference: float, sigma: float, *, paired: bool, doc_error: float = 0.0, alpha: float = ALPHA
) -> int | None:
    """Seeds of each arm with which a true `difference` is found with probability `POWER`; None above 10,000.

    sigma: standard deviation over seeds, of the paired difference (`paired`) or of one arm. doc_error: standard error
    of the difference from the documents. The bound `(z_alpha + z_power)² sigma² / d²` with normal quantiles starts
    the search; the power of the t test decides, because at 3 seeds the t quantile is 4.3 and not 1.96.
    """
    spread2 = sigma * sigma * (1 if paired else 2)
    z2 = (_NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(POWER)) ** 2
    room = difference * difference / z2 - doc_error * doc_error
    if room <= 0 or spread2 / room > _MAX_SEEDS:
        return None
    seeds = max(MIN_SEEDS, math.floor(spread2 / room))
    while power_of(difference, seeds, sigma, paired=paired, doc_error=doc_error, alpha=alpha) < POWER:
        seeds += 1
    return seeds


def smallest_difference(
    seeds: int, sigma: float, *, paired: bool, doc_error: float = 0.0, alpha: float = ALPHA
) -> float:
    """The difference that `seeds` seeds of each arm, at least 2, find with probability `POWER`."""
    low, high = 0.0, 100 * math.hypot(sigma, doc_error)
    for _ in range(40):
        middle = (low + high) / 2
        found = power_of(middle, seeds, sigma, paired=paired, doc_error=doc_error, alpha=alpha) >= POWER
        low, high = (low, middle) if found else (middle, high)
    return high


def power_of(
    difference: float, seeds: int, sigma: float, *, paired: bool, doc_error: float = 0.0, alpha: float = ALPHA
) -> float:
    """The probability that an arm better by `difference` wins with `seeds` seeds, at least 2.

    Rows of one seed are subtracted in any case, so there are `seeds - 1` degrees of freedom and not twice as many.
    """
    seed_error2 = sigma * sigma * (1 if paired else 2) / seeds
    error = math.sqrt(seed_error2 + doc_error * doc_error)
    if not error:
        return 1.0
    weights, reaches = _reaches(seeds - 1, seed_error2, doc_error * doc_error, alpha)
    wins = [_NORMAL.cdf((difference - reach) / error) for reach in reaches]
    return sum(weight * win for weight, win in zip(weights, wins, strict=True))


@lru_cache(maxsize=64)
def _reaches(seed_df: int, seed_error2: float, doc_error2: float, alpha: float) -> tuple[list[float], list[float]]:
    """Half widths of the interval for estimates s of the spread, s² df being chi-squared, and their probabilities."""
    spread = np.linspace(0, 1 + 8 / math.sqrt(seed_df), 201)[1:]
    log_density = (seed_df - 1) * np.log(spread) - seed_df * spread * spread / 2
    weights = np.exp(log_density - log_density.max())
    estimates = [_Estimate(0.0, seed_error2 * s * s, seed_df, doc_error2, math.inf) for s in spread.tolist()]
    return (weights / weights.sum()).tolist(), [t_quantile(alpha, one.parts) * one.error for one in estimates]


def power_line(seeds: int, units: int, *, margin: float | None = None, arms: int = 2) -> str:
    """What an ablation of `seeds` seeds and `units` scored documents or parts can find, printed before training.

    More than two arms are counted at `ALPHA / (arms - 1)`, the first step of Holm's method.
    """
    alpha, sigma = ALPHA / max(1, arms - 1), PRIOR_SIGMA
    spread = f"if seeds differ by {100 * sigma:g} % and documents by {100 * PRIOR_DOC_SIGMA:g} % "
    spread += "(standard deviations, assumed)"
    if units < MIN_UNITS:
        return f"power: none, {units} documents or parts of validation text give no interval, at least {MIN_UNITS} do"
    error = PRIOR_DOC_SIGMA / math.sqrt(units)
    if seeds < MIN_SEEDS:
        line = f"power: {counted(seeds, 'seed')} an arm cannot decide, at least {MIN_SEEDS} can, {spread}"
    else:
        least = smallest_difference(seeds, sigma, paired=False, doc_error=error, alpha=alpha)
        found = f"a difference of {100 * least:.2f} % of bpb in 80 % of cases"
        line = f"power: {seeds} seeds an arm and {units:,} documents or parts find {found}, {spread}"
    if not margin:
        return line
    needed = seeds_needed(margin, sigma, paired=False, doc_error=error, alpha=alpha)
    wanted = "no number of seeds decides on this text" if needed is None else f"takes {needed:,} seeds"
    return f"{line}; the margin of {100 * margin:g} % {wanted}"


def _satterthwaite(parts: Parts) -> float:
    """Degrees of freedom of a sum of squared errors, each with its own (Satterthwaite 1946)."""
    total, divided = sum(error2 for error2, _ in parts), sum(error2 * error2 / max(df, 1) for error2, df in parts)
    return total * total / divided if divided else max(df for _, df in parts)


def t_quantile(alpha: float, parts: Parts) -> float:
    """The t with a two-sided tail of `alpha`. Newton's method rises to it from the normal quantile."""
    t = _NORMAL.inv_cdf(1 - alpha / 2)
    for _ in range(200):
        density = sum(share * _t_density(t, df) for share, df in parts if share)
        step = (t_tail(t, parts) - alpha / 2) / density
        t += step
        if abs(step) <= 1e-12 * t:
            break
    return t


def t_tail(t: float, parts: Parts) -> float:
    """`P(T > t)`, t >= 0, of a mixture of Student's t: (share, degrees of freedom >= 1) of each part."""
    return sum(share * _t_tail(t, df) for share, df in parts if share)


def _t_density(t: float, df: float) -> float:
    if math.isinf(df):
        return _NORMAL.pdf(t)
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    return math.exp(log_scale - (df + 1) / 2 * math.log1p(t * t / df))


def _t_tail(t: float, df: float) -> float:
    """Half of the incomplete beta function I_x(df/2, 1/2) at x = df / (df + t²)."""
    if math.isinf(df):
        return _NORMAL.cdf(-t)
    x, y = df / (df + t * t), t * t / (df + t * t)
    if x < (df / 2 + 1) / (df / 2 + 2.5):
        return _beta_fraction(df / 2, 0.5, x, y) / 2
    return 0.5 - _beta_fraction(0.5, df / 2, y, x) / 2


def _beta_fraction(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b) with y = 1 - x by its continued fraction (DLMF 8.17.22), evaluated forwards as Lentz 1976 does."""
    if not x:
        return 0.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)) / a
    numerator, denominator, value = 1.0, 0.0, 1.0
    for k in range(1, 10_000):
        m = k // 2
        above = m * (b - m) if k % 2 == 0 else -(a + m) * (a + b + m)
        term = above * x / ((a + k - 1) * (a + k))
        denominator = 1 / (1 + term * denominator)
        numerator = 1 + term / numerator
        value *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-15:
            break
    return front / value
