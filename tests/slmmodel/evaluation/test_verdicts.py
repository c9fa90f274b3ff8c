"""Verdicts of an ablation: error rates over synthetic experiments, tabulated quantiles, slow references."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
import pytest

from slmmodel.errors import InvalidInput
from slmmodel.evaluation import comparison
from slmmodel.evaluation.verdicts import (
    Verdict,
    analyse,
    holm,
    power_line,
    power_of,
    seeds_needed,
    smallest_difference,
    t_quantile,
    t_tail,
)

SIGMA, DOC_SIGMA, SEEDS, DOCUMENTS, EXPERIMENTS, RESAMPLES = 0.003, 0.01, 3, 100, 400, 100


def experiment(rng: np.random.Generator, difference: float = 0.0, *, seeds: int = SEEDS, documents: int = DOCUMENTS):
    """Bits of two arms: a spread over seeds, differences by document, and a remainder of seed and document."""
    nbytes = rng.integers(500, 3000, documents)
    hardness = 2 + rng.normal(0, 0.3, documents)
    bits = {}
    for arm, relative in (("a", 0.0), ("b", difference)):
        spread = rng.normal(0, SIGMA, (seeds, 1)) + rng.normal(0, 0.002, (seeds, documents))
        bits[arm] = (hardness * (1 + relative) + 2 * (spread + rng.normal(0, DOC_SIGMA, documents))) * nbytes
    return bits, nbytes


class Study(NamedTuple):
    same: list[Verdict]
    planted: list[Verdict]
    difference: float


@pytest.fixture(scope="module")
def study() -> Study:
    """400 experiments with identical arms, and 400 with arm b better by what the power formula promises to find."""
    rng = np.random.default_rng(20)
    doc_error = math.sqrt(2 * (DOC_SIGMA**2 + 0.002**2 / SEEDS) * 1.18 / DOCUMENTS)  # 1.18: documents differ in size
    least = smallest_difference(SEEDS, SIGMA, paired=False, doc_error=doc_error)

    def verdicts(difference: float) -> Iterator[Verdict]:
        for _ in range(EXPERIMENTS):
            yield analyse(*experiment(rng, difference), "a", 0.0025, resamples=RESAMPLES).pairs[0]

    return Study(list(verdicts(0.0)), list(verdicts(-least)), -least)


def test_identical_arms_have_a_winner_in_at_most_28_of_400_experiments(study: Study) -> None:
    assert 5 <= sum(one.kind in ("better", "worse") for one in study.same) <= 28


def test_the_difference_that_the_power_formula_promises_is_found_in_300_of_400(study: Study) -> None:
    assert 300 <= sum(one.kind == "better" for one in study.planted) <= 345


def test_intervals_cover_the_true_difference_in_93_to_97_per_cent(study: Study) -> None:
    truths = [(one, 0.0) for one in study.same] + [(one, study.difference) for one in study.planted]
    covered = [one.relative_interval[0] <= truth <= one.relative_interval[1] for one, truth in truths]
    assert 0.93 <= fmean(covered) <= 0.97


@pytest.mark.parametrize("ratio", [0.2, 0.4, 1.0])
def test_three_seeds_and_an_error_from_documents_give_no_more_than_5_per_cent(ratio: float) -> None:
    """Here the degrees of freedom after Satterthwaite reject 8 %."""
    rng = np.random.default_rng(1)
    seeds, docs = rng.normal(0, math.sqrt(3), (4000, 3)), rng.normal(0, ratio, 4000)
    grid = np.linspace(0, 60, 2401)
    wide, narrow = (np.array([t_tail(t, [(1, df)]) for t in grid.tolist()]) for df in (2, 99))
    seed2, doc2 = seeds.var(axis=1, ddof=1) / 3, ratio**2
    t, share = np.abs(seeds.mean(1) + docs) / np.sqrt(seed2 + doc2), seed2 / (seed2 + doc2)
    p = 2 * (share * np.interp(t, grid, wide) + (1 - share) * np.interp(t, grid, narrow))
    assert 0.025 <= (p < 0.05).mean() <= 0.058


@pytest.mark.parametrize(
    ("alpha", "df", "expected"),
    [(0.05, 1, 12.7062), (0.05, 2, 4.3027), (0.05, 4, 2.7764), (0.05, 9, 2.2622), (0.05, 30, 2.0423),
     (0.05, 120, 1.9799), (0.01, 1, 63.6567), (0.01, 3, 5.8409), (0.001, 10, 4.5869), (0.05, math.inf, 1.9600)],
)  # fmt: skip
def test_t_quantiles_equal_the_table(alpha: float, df: float, expected: float) -> None:
    quantile = t_quantile(alpha, [(1, df)])
    assert quantile == pytest.approx(expected, abs=6e-5)
    assert 2 * t_tail(quantile, [(1, df)]) == pytest.approx(alpha, rel=1e-9)


def test_tail_equals_its_closed_forms() -> None:
    for t in (0.0, 0.3, 1.0, 7.0, 300.0):
        assert t_tail(t, [(1, 1)]) == pytest.approx(0.5 - math.atan(t) / math.pi, rel=1e-9)
        assert t_tail(t, [(1, 2)]) == pytest.approx(0.5 - t / (2 * math.sqrt(2 + t * t)), rel=1e-8)
    assert t_tail(1.0, [(0.25, 1), (0.75, 2)]) == pytest.approx(0.0625 + 0.75 * (0.5 - 1 / (2 * math.sqrt(3))))


def test_bootstrap_equals_the_loop_over_documents() -> None:
    rows, nbytes = np.arange(60.0).reshape(2, 30) ** 1.5, np.arange(1, 31)
    found = comparison.bootstrap_means(rows, nbytes, resamples=7, seed=3)
    draws = np.random.default_rng(3).integers(0, 30, (7, 30)).tolist()
    for row, means in zip(rows, found, strict=True):
        assert means == pytest.approx([sum(row[i] for i in draw) / sum(nbytes[i] for i in draw) for draw in draws])


def slow_holm(ps: list[float], alpha: float) -> list[bool]:
    """Holm's procedure as he states it: reject while the smallest p left is below alpha over the tests left."""
    left, rejected = list(range(len(ps))), [False] * len(ps)
    while left:
        smallest = min(left, key=lambda index: ps[index])
        if ps[smallest] * len(left) >= alpha:
            break
        rejected[smallest] = True
        left.remove(smallest)
    return rejected


def test_holm_rejects_as_the_stepwise_procedure_and_its_intervals_agree() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        ps = (rng.random(rng.integers(1, 6)) ** 3).tolist()
        adjusted, alphas = holm(ps, 0.05)
        assert [p < 0.05 for p in adjusted] == slow_holm(ps, 0.05)
        assert [p < alpha for p, alpha in zip(ps, alphas, strict=True)] == slow_holm(ps, 0.05)


def test_a_difference_and_its_interval_equal_a_direct_computation() -> None:
    bits, nbytes = experiment(np.random.default_rng(4), -0.02, seeds=4)
    found = analyse(bits, nbytes, "a", 0.0025)
    per_seed = [(b.sum() - a.sum()) / nbytes.sum() for a, b in zip(bits["a"], bits["b"], strict=True)]
    difference = bits["b"].mean(0) - bits["a"].mean(0)
    rng, resampled = np.random.default_rng(9), []
    for _ in range(4000):
        drawn = rng.integers(0, len(nbytes), len(nbytes))
        resampled.append(difference[drawn].sum() / nbytes[drawn].sum())
    seed2, doc2 = stdev(per_seed) ** 2 / 4, stdev(resampled) ** 2
    share = seed2 / (seed2 + doc2)
    reach = t_quantile(0.05, [(share, 3), (1 - share, 99)]) * math.sqrt(seed2 + doc2)
    pair = found.pairs[0]
    assert pair.delta == pytest.approx(fmean(per_seed), rel=1e-12)
    assert pair.interval == pytest.approx((pair.delta - reach, pair.delta + reach), rel=0.02)
    base = bits["a"].sum() / 4 / nbytes.sum()
    assert (found.arms[0].bpb, pair.relative) == pytest.approx((base, pair.delta / base))
    assert json.loads(json.dumps(found.to_json())) == json.loads(json.dumps(found.to_json(), allow_nan=False))


def test_the_three_verdicts_and_their_sentences() -> None:
    bits, nbytes = experiment(np.random.default_rng(4), -0.04, seeds=5)
    better = analyse(bits, nbytes, "a", 0.0025, resamples=500).pairs[0]
    assert better.kind == "better"
    assert better.verdict.startswith("b is better than a: δ = -")
    assert better.verdict.endswith("5 seeds, 100 documents")
    worse = analyse(bits, nbytes, "b", 0.0025, resamples=500, exploratory=True).pairs[0]
    assert (worse.kind, worse.delta) == ("worse", pytest.approx(-better.delta))
    assert worse.verdict.startswith("EXPLORATORY: b is better than a: δ = -")
    both = analyse(bits, nbytes, "a", 0.5, resamples=500).pairs[0]
    assert both.equivalent and "b is better than a, and equivalent within 50 %" in both.verdict
    close = analyse({"a": bits["a"], "b": bits["a"] + 1e-6}, nbytes, "a", 0.0025, resamples=500).pairs[0]
    assert close.equivalent
    same = analyse({"a": bits["a"], "b": bits["a"]}, nbytes, "a", 0.0025, resamples=500).pairs[0]
    assert (same.kind, same.interval, same.p) == ("equivalent", (0.0, 0.0), 1.0)
    assert same.verdict == (
        "b and a are equivalent within 0.25 %: δ = +0.00 % of bpb, 95 % [+0.00, +0.00], 5 seeds, 100 documents"
    )


def test_no_decision_says_how_many_seeds_more() -> None:
    bits, nbytes = experiment(np.random.default_rng(3), documents=2000)
    found = analyse(bits, nbytes, "a", 0.002, resamples=200).pairs[0]
    assert found.kind == "no decision" and found.more_seeds and found.more_seeds > 0
    assert f"about {found.more_seeds} more seed" in found.verdict
    few, few_bytes = experiment(np.random.default_rng(3), documents=30)
    undecided = analyse(few, few_bytes, "a", 0.0001, resamples=200).pairs[0]
    assert undecided.more_seeds is None and "no number of seeds decides" in undecided.verdict


@pytest.mark.parametrize("seeds", [1, 2])
def test_below_3_seeds_nothing_is_decided(seeds: int) -> None:
    bits, nbytes = experiment(np.random.default_rng(3), -0.5, seeds=seeds)
    found = analyse(bits, nbytes, "a", 0.0025, resamples=200).pairs[0]
    assert found.kind == "no decision" and found.verdict.startswith(f"No decision between b and a: {seeds} seed")
    assert (found.interval is None) == (seeds == 1)


def test_fewer_than_20_documents_decide_nothing() -> None:
    bits, nbytes = experiment(np.random.default_rng(3), -0.5, documents=19)
    found = analyse(bits, nbytes, "a", 0.0025, resamples=200)
    assert found.pairs[0].kind == "no decision" and found.pairs[0].interval is None and found.arms[0].interval is None
    assert "19 documents" in found.pairs[0].verdict


def test_three_arms_are_adjusted_and_unequal_seeds_are_unpaired() -> None:
    bits, nbytes = experiment(np.random.default_rng(4), -0.02, seeds=6)
    bits["c"] = bits["a"][:4] * 1.03
    pairs = analyse(bits, nbytes, "a", 0.0025, resamples=500).pairs
    assert [(one.arm, one.seeds) for one in pairs] == [("b", 6), ("c", 4)]
    assert sorted(one.level for one in pairs) == [0.95, 0.975]
    assert all(one.adjusted_p >= one.p for one in pairs)


def test_power_counts_the_t_quantile() -> None:
    """With 6 seeds, which normal quantiles ask for, a difference of 0.5 % is found in 64 % of cases, not 80 %."""
    assert power_of(0.005, 6, 0.003, paired=False) == pytest.approx(0.64, abs=0.01)
    assert seeds_needed(0.005, 0.003, paired=False) == 8
    assert seeds_needed(0.005, 0.0005, paired=False) == 3
    assert seeds_needed(0.005, 0.003, paired=False, doc_error=0.005) is None
    for seeds in (3, 5, 20):
        least = smallest_difference(seeds, SIGMA, paired=True)
        assert power_of(least, seeds, SIGMA, paired=True) == pytest.approx(0.8, abs=1e-6)
        assert seeds_needed(least * 1.0001, SIGMA, paired=True) == seeds


def test_power_line_names_difference_spread_and_seeds() -> None:
    least = smallest_difference(3, 0.003, paired=False, doc_error=0.02 / 15)
    assert power_line(3, 225, margin=0.005) == (
        f"power: 3 seeds an arm and 225 documents or parts find a difference of {100 * least:.2f} % of bpb in 80 % of "
        "cases, if seeds differ by 0.3 % and documents by 2 % (standard deviations, assumed); "
        f"the margin of 0.5 % takes {seeds_needed(0.005, 0.003, paired=False, doc_error=0.02 / 15)} seeds"
    )
    assert power_of(least, 3, 0.003, paired=False, doc_error=0.02 / 15) == pytest.approx(0.8, abs=1e-6)
    assert "the margin of 0.25 % no number of seeds decides on this text" in power_line(3, 225, margin=0.0025)
    assert "2 seeds an arm cannot decide, at least 3 can" in power_line(2, 225)
    assert f"{100 * least:.2f}" not in power_line(3, 225, arms=3)
    assert "power: none, 19 documents or parts" in power_line(3, 19)


def test_arms_that_do_not_fit_are_refused() -> None:
    bits, nbytes = experiment(np.random.default_rng(3))
    with pytest.raises(InvalidInput, match="no arm is named 'z'"):
        analyse(bits, nbytes, "z", 0.0025)
    with pytest.raises(InvalidInput, match="evaluate all arms on the same documents"):
        analyse({**bits, "b": bits["b"][:, 1:]}, nbytes, "a", 0.0025)
    bits["b"][1, 5] = math.nan
    with pytest.raises(InvalidInput, match=r"arm 'b' has a loss that is not finite\s+where: seed number 1"):
        analyse(bits, nbytes, "a", 0.0025)


def test_too_little_text_asks_for_more_text_and_not_for_seeds() -> None:
    bits, nbytes = experiment(np.random.default_rng(3), 0.01)
    few = {arm: of_arm[:, :15] for arm, of_arm in bits.items()}
    found = analyse(few, nbytes[:15], "a", 0.0025, unit="4096 bytes").pairs[0]
    assert (found.kind, found.interval, found.more_seeds) == ("no decision", None, None)
    few_parts = "15 parts of at most 4096 bytes give no interval, at least 20 do: evaluate on more text"
    assert found.verdict == f"No decision between b and a: {few_parts}"
    decided = analyse(bits, nbytes, "a", 0.0025, unit="4096 bytes").pairs[0]
    assert f"{len(nbytes)} parts of at most 4096 bytes" in decided.verdict
