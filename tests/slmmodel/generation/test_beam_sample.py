"""Beam sampling: one beam is ordinary sampling; several against a reference of lists; their distribution."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
import torch
from slmmodel_tiny import VARIANTS, decoding, model

from slmmodel.errors import OptionError
from slmmodel.generation import generate
from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions, StepContext, probabilities, uniform
from slmmodel.sampling.beam_sample import beam_sample

EVERY = pytest.mark.parametrize("name", VARIANTS)
PROMPT = [1, 2, 3]


@EVERY
@pytest.mark.parametrize(
    "options",
    [
        SamplingOptions(seed=1),
        SamplingOptions(seed=2, temperature=0.7, top_k=20, repetition_penalty=1.3, stop_ids=tuple(range(5))),
    ],
)
def test_one_beam_with_early_stopping_is_sampling(name: str, options: SamplingOptions) -> None:
    made = model(name)
    drawn = generate(made, [PROMPT], options, max_new_tokens=12)[0]
    found = beam_sample(made, PROMPT, decoding(options, beam_sample=1, max_new_tokens=12, early_stopping=True))[0]
    assert (found.ids, found.ended) == (drawn.ids, drawn.reason == "stop")


@torch.inference_mode()
def chances(made: Model, ids: list[int], options: SamplingOptions) -> list[float]:
    """Of each id after `ids`, the whole sequence computed again."""
    whole = torch.tensor([ids])
    logits = made(whole).logits
    assert logits is not None
    context = StepContext(whole, torch.ones_like(whole, dtype=torch.bool), len(PROMPT), torch.tensor([0]))
    return [float(p) for p in probabilities(options, context, logits[:, -1])[0]]


def reference(made: Model, options: SamplingOptions, beams: int, n: int, alpha: float) -> list[tuple[list[int], float]]:
    """Lists of (ids, logp); 2b draws without replacement by cumulative sums."""
    running: list[tuple[list[int], float]] = [([], 0.0)]
    pool: list[tuple[float, list[int], float]] = []
    for step in range(n):
        left = {
            (row, id): logp + math.log(p)
            for row, (ids, logp) in enumerate(running)
            for id, p in enumerate(chances(made, PROMPT + ids, options))
            if p > 0
        }
        drawn: list[tuple[int, int, float]] = []
        while left and len(drawn) < 2 * beams:
            weights = {key: math.exp(logp - max(left.values())) for key, logp in left.items()}
            goal, total = uniform(options.seed, len(drawn), step) * sum(weights.values()), 0.0
            key = (0, 0)
            for key, weight in weights.items():  # noqa: B007
                total += weight
                if total > goal:
                    break
            drawn.append((*key, left.pop(key)))
        for row, id, logp in drawn[:beams]:
            if id in options.stop_ids:
                pool.append((logp / (step + 1) ** alpha, running[row][0], logp))
        going = [(running[row][0] + [id], logp) for row, id, logp in drawn if id not in options.stop_ids][:beams]
        if not going:
            break
        running = going
        pool = sorted(pool, key=lambda beam: -beam[0])[:beams]
        best = max(logp for _, logp in running) / (step + 1) ** alpha
        if len(pool) == beams and best <= pool[-1][0]:
            break
    else:
        pool += [(logp / n**alpha, ids, logp) for ids, logp in running]
    return [(ids, logp) for _, ids, logp in sorted(pool, key=lambda beam: -beam[0])[:beams]]


@pytest.mark.parametrize("name", ["llama", "lstm"])
@pytest.mark.parametrize("beams", [2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_equal_to_the_reference(name: str, beams: int, seed: int) -> None:
    made = model(name, n_vocab=9)
    options = SamplingOptions(seed=seed, temperature=1.3, top_k=7, stop_ids=(4,))
    found = beam_sample(made, PROMPT, decoding(options, beam_sample=beams, max_new_tokens=5))
    want = reference(made, options, beams, 5, 1.0)
    assert [beam.ids for beam in found] == [ids for ids, _ in want]
    assert [beam.logp for beam in found] == pytest.approx([logp for _, logp in want], abs=1e-4)


def test_pairs_are_drawn_without_replacement() -> None:
    """1,000 pairs of first ids, against p(a) p(b) / (1 - p(a)) for a drawn before b: a chi-squared test."""
    made, n = model("llama", n_vocab=5), 1000
    options = [decoding(seed=seed, beam_sample=2, max_new_tokens=1) for seed in range(n)]
    p = chances(made, PROMPT, options[0])
    expected = {
        frozenset(pair): n * sum(p[a] * p[b] / (1 - p[a]) for a, b in (pair, pair[::-1]))
        for pair in itertools.combinations(range(5), 2)
    }
    assert sum(expected.values()) == pytest.approx(n)
    found = Counter(frozenset(beam.ids[0] for beam in beam_sample(made, PROMPT, each)) for each in options)
    # Nine degrees of freedom: a right sampler exceeds 27.9 once in 1,000 seeds of this test.
    assert sum((found[pair] - want) ** 2 / want for pair, want in expected.items()) < 27.9


def test_more_beams_than_continuations() -> None:
    found = beam_sample(model("llama", n_vocab=3), PROMPT[:2], decoding(beam_sample=50, max_new_tokens=2))
    assert len({tuple(beam.ids) for beam in found}) == len(found) == 9
    with pytest.raises(OptionError, match="beam"):
        beam_sample(model("llama"), PROMPT, decoding(beam_sample=0))
