"""Each processor against a few lines of numpy, and what all of them promise."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from slmmodel import sampling
from slmmodel.errors import OptionError
from slmmodel.rng import splitmix64
from slmmodel.sampling import (
    FILTERS,
    PENALTIES,
    SamplingOptions,
    StepContext,
    draw,
    largest,
    penalise,
    pick,
    probabilities,
    uniform,
)

V, PROMPT = 23, 4
CHOICES = ((3, 3, 1, 7), (3, 3, 1, 8, 2), (3, 3, 1), (4, 1, 3), (4, 1, 2, 6))
"""Three begin the generated ids of row 0; one is those of row 1; none begins those of row 2."""


class Letters:
    """A constraint: an odd and an even id in turn, at most 3; a match behind an even one. The state is their number."""

    def run(self, ids: list[int]) -> int | None:
        return len(ids) if len(ids) <= 3 and all((id + at) % 2 for at, id in enumerate(ids)) else None

    def allowed(self, state: int) -> torch.Tensor:
        return (torch.arange(V) + state) % 2 * (state < 3) > 0

    def is_match(self, state: int) -> bool:
        return state % 2 == 1


CASES: dict[str, list[dict[str, Any]]] = {
    "ban": [{"banned": (0, 7)}, {"stop_ids": (2,), "min_new_tokens": 4}, {"stop_ids": (2,), "min_new_tokens": 3}],
    "repetition": [{"repetition_penalty": 1.3}, {"repetition_penalty": 0.7}],
    "frequency": [{"frequency_penalty": 0.4}, {"presence_penalty": 0.9}, {"frequency_penalty": -1.0}],
    "no-repeat-ngram": [{"no_repeat_ngram": 1}, {"no_repeat_ngram": 2}, {"no_repeat_ngram": 3}],
    "choices": [{"choices": CHOICES, "stop_ids": (9,)}, {"choices": ((4, 1, 3), (4, 1, 3, 5)), "stop_ids": (9, 8)}],
    "constraint": [{"constraint": Letters(), "stop_ids": (9, 8)}, {"constraint": Letters(), "stop_ids": (3,)}],
    "temperature": [{"temperature": 0.5}, {"temperature": 3.0}],
    "top-k": [{"top_k": 1}, {"top_k": 5}, {"top_k": 100}],
    "top-p": [{"top_p": 0.3}, {"top_p": 0.9}, {"top_p": 1e-9}],
    "min-p": [{"min_p": 0.05}, {"min_p": 1.0}],
}
EVERY = pytest.mark.parametrize(("name", "options"), [(name, case) for name, cases in CASES.items() for case in cases])


def context(rows: int = 3) -> StepContext:
    """Three ragged prompts of at most 4 ids, then 3 generated ones; few distinct ids, so that they repeat."""
    ids = torch.randint(0, 5, (rows, PROMPT + 3), generator=torch.Generator().manual_seed(1))
    attention_mask = torch.ones_like(ids, dtype=torch.bool)
    attention_mask[1, :2] = False
    return StepContext(ids, attention_mask, PROMPT, torch.arange(rows))


def logits(rows: int = 3) -> torch.Tensor:
    made = torch.randn(rows, V, generator=torch.Generator().manual_seed(2)) * 2
    made[0, 5] = made[0].max()  # a tie
    made[0, 3] = made[0, 5]
    return made


def softmax(row: np.ndarray) -> np.ndarray:
    shifted = np.exp(row - row.max())
    return shifted / shifted.sum()


def expected(name: str, o: SamplingOptions, row: np.ndarray, history: list[int], generated: list[int]) -> np.ndarray:
    out = row.astype(np.float64)
    if name == "ban":
        out[list(o.banned)] = -np.inf
        if len(generated) < o.min_new_tokens:
            out[list(o.stop_ids)] = -np.inf
    elif name == "repetition":
        for id in set(history):
            out[id] = out[id] / o.repetition_penalty if out[id] > 0 else out[id] * o.repetition_penalty
    elif name == "frequency":
        for id, times in Counter(generated).items():
            out[id] -= o.frequency_penalty * times + o.presence_penalty
    elif name == "no-repeat-ngram":
        n = o.no_repeat_ngram
        for at in range(len(history) - n + 1):
            if history[at : at + n - 1] == history[len(history) - n + 1 :]:
                out[history[at + n - 1]] = -np.inf
    elif name == "choices":
        begun = [list(choice) for choice in o.choices if list(choice[: len(generated)]) == generated]
        keep = {choice[len(generated)] for choice in begun if len(choice) > len(generated)}
        keep |= set(o.stop_ids) if generated in begun else set()
        out[[id for id in range(V) if begun and id not in keep]] = -np.inf
    elif name == "constraint":
        at = len(generated)
        if all((id + index) % 2 for index, id in enumerate(generated)):
            keep = {id for id in range(V) if at < 3 and (id + at) % 2} - set(o.stop_ids)
            out[[id for id in range(V) if id not in keep | set(o.stop_ids if at % 2 else ())]] = -np.inf
    elif name == "temperature":
        out /= o.temperature
    else:
        order = sorted(range(V), key=lambda id: (-row[id], id))
        p = softmax(out)
        keep = {"top-k": order[: o.top_k], "min-p": [id for id in order if p[id] >= o.min_p * p.max() * (1 - 1e-12)]}
        mass, kept = 0.0, []
        for id in order:
            if mass >= o.top_p:
                break
            kept.append(id)
            mass += p[id]
        keep["top-p"] = kept
        out[[id for id in range(V) if id not in keep[name]]] = -np.inf
    return out


def processed(options: SamplingOptions, at: StepContext, given: torch.Tensor) -> torch.Tensor:
    for process in (PENALTIES | FILTERS).values():
        given = process(options, at, given)
    return given


def test_every_processor_has_cases_and_a_registry_line() -> None:
    registered = PENALTIES | FILTERS
    assert list(CASES) == list(registered)
    parameters = ["options", "context", "logits"]
    functions = [function for function in vars(sampling).values() if inspect.isfunction(function)]
    assert {f for f in functions if list(inspect.signature(f).parameters) == parameters} == {
        *registered.values(),
        penalise,
        sampling.penalise_and_filter,
        pick,
        probabilities,
    }


@EVERY
def test_a_processor_equals_its_formula(name: str, options: dict[str, Any]) -> None:
    given, at = SamplingOptions(**options), context()
    found = processed(given, at, logits())
    for row in range(3):
        history = at.history[row][at.attention_mask[row]].tolist()
        want = expected(name, given, logits()[row].numpy(), history, at.history[row, PROMPT:].tolist())
        np.testing.assert_allclose(found[row].numpy(), want, rtol=1e-5, err_msg=f"row {row}")


@EVERY
def test_a_row_of_a_batch_equals_the_row_alone(name: str, options: dict[str, Any]) -> None:
    given, at = SamplingOptions(seed=9, **options), context()
    together = pick(given, at, logits())
    for row in range(3):
        alone = at.reordered(torch.tensor([row]))
        assert pick(given, alone, logits()[row : row + 1]).tolist() == together[row : row + 1].tolist()


@EVERY
def test_a_filtered_id_is_never_picked(name: str, options: dict[str, Any]) -> None:
    at = context()
    for seed in range(50):
        given = SamplingOptions(seed=seed, **options)
        picked = pick(given, at, logits())
        assert torch.isfinite(processed(given, at, logits()).gather(1, picked[:, None])).all()


def test_the_default_options_change_nothing() -> None:
    assert torch.equal(processed(SamplingOptions(), context(), logits()), logits())


def test_every_form_of_greedy_decoding() -> None:
    given = logits()
    best = [row.tolist().index(max(row.tolist())) for row in given]
    for options in ({"temperature": 0.0}, {"top_k": 1}, {"top_p": 1e-9}, {"temperature": 0.0, "top_p": 0.5, "seed": 3}):
        assert pick(SamplingOptions(**options), context(), given).tolist() == best
    assert largest(given).tolist() == best


def test_draws_follow_the_distribution() -> None:
    row = torch.log(torch.tensor([[0.5, 0.0, 0.3, 0.2]]))
    u = torch.tensor([uniform(3, row_, 0) for row_ in range(20_000)], dtype=torch.float64)
    counts = torch.bincount(draw(row.expand(20_000, 4), u), minlength=4) / 20_000
    np.testing.assert_allclose(counts.numpy(), [0.5, 0.0, 0.3, 0.2], atol=0.012)
    assert counts[1] == 0
    for edge, id in ((0.0, 0), (0.4999, 0), (0.5001, 2), (0.8001, 3), (1 - 2**-53, 3)):
        assert draw(row, torch.tensor([edge], dtype=torch.float64)).tolist() == [id]


def test_the_number_behind_a_draw() -> None:
    assert uniform(5, 2, 7) == (splitmix64(splitmix64(splitmix64(5) ^ 2) ^ 7) >> 11) * 2.0**-53
    assert len({uniform(s, r, t) for s in range(5) for r in range(5) for t in range(5)}) == 125


WRONG = [
    {"temperature": -1.0},
    {"top_k": -1},
    {"top_p": 0.0},
    {"top_p": 1.5},
    {"min_p": 2.0},
    {"repetition_penalty": 0.0},
    {"no_repeat_ngram": -2},
    {"min_new_tokens": -1},
    {"temperature": float("nan")},
]


@pytest.mark.parametrize("options", WRONG)
def test_options_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        SamplingOptions(**options)


def test_a_limit_is_printed_exactly() -> None:
    """pydantic writes it as 9223372036854776000, which is larger than the value that is refused."""
    with pytest.raises(OptionError) as caught:
        SamplingOptions(seed=1 << 63)
    assert caught.value.limit == "less than 9223372036854775808"


@EVERY
def test_pick_draws_from_the_probabilities(name: str, options: dict[str, Any]) -> None:
    at, given_logits = context(), logits()
    for seed in range(5):
        given = SamplingOptions(**options, seed=seed)
        chances = probabilities(given, at, given_logits)
        assert chances.sum(1).tolist() == pytest.approx([1.0] * 3)
        u = torch.tensor([uniform(seed, number, at.step) for number in at.sample_numbers.tolist()])
        assert draw(chances.log(), u.double()).tolist() == pick(given, at, given_logits).tolist()
    greedy = SamplingOptions(**{**options, "temperature": 0})
    assert probabilities(greedy, at, given_logits).argmax(1).tolist() == pick(greedy, at, given_logits).tolist()
