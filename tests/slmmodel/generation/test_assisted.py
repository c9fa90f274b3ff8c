"""Assisted decoding: the distribution of the large model alone, greedy decoding, and a reference without states."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
import torch
from slmmodel_tiny import SEQ_LEN, VARIANTS, decoding, model

from slmmodel.errors import InvalidInput, OptionError
from slmmodel.generation import generate
from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions, StepContext, probabilities
from slmmodel.sampling.assisted import ACCEPT, PROPOSE, REPLACE, Random, assisted

EVERY = pytest.mark.parametrize("name", VARIANTS)
PROMPT = [1, 2, 3]
OPTIONS = [
    SamplingOptions(seed=1),
    SamplingOptions(seed=2, temperature=0.7, top_k=20, repetition_penalty=1.3),
    SamplingOptions(seed=3, stop_ids=tuple(range(8)), min_new_tokens=2, no_repeat_ngram=2),
]


@torch.inference_mode()
def distribution(made: Model, ids: list[int], options: SamplingOptions) -> torch.Tensor:
    """float64 [V]: of the id after `ids`, the whole sequence computed again."""
    whole = torch.tensor([ids])
    logits = made(whole).logits
    assert logits is not None
    context = StepContext(whole, torch.ones_like(whole, dtype=torch.bool), len(PROMPT), torch.tensor([0]))
    return probabilities(options, context, logits[:, -1])[0]


def drawn(weights: torch.Tensor, u: float) -> int:
    cumulative = (weights / weights.sum()).cumsum(0)
    return int((cumulative > u * cumulative[-1]).nonzero()[0])


def reference(large: Model, small: Model, options: SamplingOptions, n: int, lookahead: int) -> list[int]:
    """The published algorithm, one distribution at a time."""
    ids, random = list(PROMPT), Random(options.seed, 0)
    while (done := len(ids) - len(PROMPT)) < n:
        guess, q = list(ids), []
        for step in range(done, min(done + lookahead, n - 1)):
            q.append(distribution(small, guess, options))
            guess.append(drawn(q[-1], random(PROPOSE, step)))
        for at in range(len(q) + 1):
            step, p = len(ids) - len(PROMPT), distribution(large, ids, options)
            proposal = guess[len(ids)] if at < len(q) else None
            if proposal is not None and random(ACCEPT, step) < p[proposal] / q[at][proposal]:
                ids.append(proposal)
            else:
                rest = p if proposal is None else (p - q[at]).clamp(min=0)
                ids.append(drawn(rest, random(REPLACE, step)))
            if ids[-1] in options.stop_ids:
                return ids[len(PROMPT) : -1]
            if proposal is None or ids[-1] != guess[len(ids) - 1]:
                break
    return ids[len(PROMPT) :]


@EVERY
@pytest.mark.parametrize("options", OPTIONS)
def test_equal_to_the_reference(name: str, options: SamplingOptions) -> None:
    large, small = model(name), model(name, seed=7)
    found = assisted(large, small, PROMPT, decoding(options, lookahead=3, max_new_tokens=12))
    assert found.ids == reference(large, small, options, 12, 3)
    assert 0 <= found.numbers["accepted"] <= found.numbers["proposed"]


@EVERY
@pytest.mark.parametrize("lookahead", [1, 4])
def test_greedy_decoding_stays_greedy(name: str, lookahead: int) -> None:
    options = SamplingOptions(temperature=0, stop_ids=tuple(range(3)), repetition_penalty=1.1)
    large, small = model(name), model("llama", seed=5)
    if large.config.unbounded:
        small = model("gru", seed=5)
    alone = generate(large, [PROMPT], options, max_new_tokens=30)[0]
    found = assisted(large, small, PROMPT, decoding(options, lookahead=lookahead, max_new_tokens=30))
    assert (found.ids, found.reason) == (alone.ids, alone.reason)


def test_the_distribution_is_that_of_the_model_alone() -> None:
    """1,500 texts of three ids over a vocabulary of four, against the probability of each: a chi-squared test."""
    tiny = {"n_vocab": 4, "n_layers": 1}
    large, small, n = model("gpt2", **tiny), model("gpt2", seed=9, **tiny), 1500
    options = [decoding(seed=seed, temperature=0.8, lookahead=2, max_new_tokens=3) for seed in range(n)]
    prompt, expected = [1, 2, 3], {}
    for ids in itertools.product(range(4), repeat=3):
        chances = [float(distribution(large, prompt + list(ids[:at]), options[0])[ids[at]]) for at in range(3)]
        expected[ids] = n * chances[0] * chances[1] * chances[2]
    found = Counter(tuple(assisted(large, small, prompt, each).ids) for each in options)
    cells = [(found[ids], want) for ids, want in expected.items() if want >= 5]
    rest = n - sum(count for count, _ in cells), n - sum(want for _, want in cells)
    chi2 = sum((count - want) ** 2 / want for count, want in [*cells, rest] if want > 0)
    # A right sampler exceeds it once in 1,000 seeds of this test (Wilson and Hilferty).
    free = len(cells)
    assert free > 20 and chi2 < free * (1 - 2 / (9 * free) + 3.09 * (2 / (9 * free)) ** 0.5) ** 3
    # Of the small model alone it is far away, so the test can fail.
    alone = [sample for each in options[:20] for sample in generate(small, [prompt] * 50, each, max_new_tokens=3)]
    other = Counter(tuple(sample.ids) for sample in alone)
    assert sum((other[ids] - want / 1.5) ** 2 / (want / 1.5) for ids, want in expected.items() if want >= 5) > 200


def test_an_equal_assistant_is_always_accepted() -> None:
    large = model("llama")
    found = assisted(large, large, PROMPT, decoding(seed=4, lookahead=4, max_new_tokens=20))
    assert found.numbers == {"proposed": 16, "accepted": 16} and len(found.ids) == 20


def test_the_end_of_the_context() -> None:
    large = model("llama")
    found = assisted(large, model("llama", seed=3), [1] * (SEQ_LEN - 2), decoding(max_new_tokens=50))
    assert (len(found.ids), found.reason) == (3, "context")
    assert assisted(large, large, PROMPT, decoding(max_new_tokens=0)).ids == []


def test_what_is_refused() -> None:
    large = model("llama")
    for small in (model("llama", n_vocab=60), model("llama", seq_len=SEQ_LEN - 1)):
        with pytest.raises(InvalidInput, match="the assistant"):
            assisted(large, small, PROMPT, decoding())
    with pytest.raises(OptionError, match="lookahead"):
        assisted(large, large, PROMPT, decoding(lookahead=0))
    with pytest.raises(InvalidInput, match="no ids"):
        assisted(large, large, [], decoding())
