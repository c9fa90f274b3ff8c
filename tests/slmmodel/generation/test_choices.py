"""Choices: one of several rows of ids is generated, with the probability that a plain reference gives it."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from slmmodel_tiny import VARIANTS, decoding, model

from slmmodel.errors import OptionError
from slmmodel.generation import generate
from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions
from slmmodel.sampling.assisted import assisted
from slmmodel.sampling.beam import beam_search

PROMPT, STOP = [1, 2, 3], 9
CHOICES = ((5, 6), (5, 7, 8), (5,), (20, 21, 22, 23))


@torch.inference_mode()
def chance(made: Model, choice: tuple[int, ...]) -> float:
    """Of a choice: the product over its ids of the probability among the ids that a choice allows there."""
    ids, product = list(PROMPT), 1.0
    for at, id in enumerate([*choice, STOP]):
        begun = [other for other in CHOICES if other[:at] == choice[:at]]
        allowed = sorted({other[at] if len(other) > at else STOP for other in begun})
        logits = made(torch.tensor([ids])).logits
        assert logits is not None
        product *= float(torch.softmax(logits[0, -1, allowed].double(), 0)[allowed.index(id)])
        ids.append(id)
    return product


def test_the_probability_of_each_choice() -> None:
    made, n = model("llama"), 2000
    options = [SamplingOptions(choices=CHOICES, stop_ids=(STOP,), seed=seed) for seed in range(n // 50)]
    samples = [sample for each in options for sample in generate(made, [PROMPT] * 50, each, max_new_tokens=9)]
    found = Counter(tuple(sample.ids) for sample in samples)
    expected = {choice: n * chance(made, choice) for choice in CHOICES}
    assert sum(expected.values()) == pytest.approx(n) and set(found) <= set(CHOICES)
    # Three degrees of freedom: a right sampler exceeds 16.3 once in 1,000 seeds of this test.
    assert sum((found[choice] - want) ** 2 / want for choice, want in expected.items()) < 16.3


@pytest.mark.parametrize("name", VARIANTS)
def test_all_ways_of_decoding(name: str) -> None:
    made = model(name)
    options = SamplingOptions(choices=CHOICES, stop_ids=(STOP,), temperature=0)
    best = generate(made, [PROMPT, [4]], options, max_new_tokens=9)
    assert all(tuple(sample.ids) in CHOICES and sample.reason == "stop" for sample in best)
    beams = beam_search(made, PROMPT, decoding(options, beam=4, max_new_tokens=9, length_penalty=0.0))
    chances = sorted(CHOICES, key=lambda choice: -chance(made, choice))
    assert [tuple(beam.ids) for beam in beams] == chances
    drawn = decoding(options, temperature=1.0, seed=4, max_new_tokens=9)
    assert tuple(assisted(made, model(name, seed=3), PROMPT, drawn).ids) in CHOICES


def test_a_choice_wins_over_what_forbids_it() -> None:
    options = SamplingOptions(choices=((5, 5, 5),), stop_ids=(STOP,), banned=(5,), no_repeat_ngram=1)
    assert generate(model("llama"), [PROMPT], options, max_new_tokens=9)[0].ids == [5, 5, 5]


def test_what_is_refused() -> None:
    with pytest.raises(OptionError, match="need stop_ids"):
        SamplingOptions(choices=CHOICES)
    with pytest.raises(OptionError, match="no ids"):
        SamplingOptions(choices=((),), stop_ids=(STOP,))
