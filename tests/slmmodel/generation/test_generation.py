"""Generation of ids: equal to recomputing all, ragged batches equal to single rows, what ends a row, sliding."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from slmmodel_tiny import N_VOCAB, SEQ_LEN, VARIANTS, config, decoding, ids, model

from slmmodel.errors import InvalidInput, OptionError
from slmmodel.generation import Generation, generate
from slmmodel.models import MODELS
from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions, StepContext, pick
from slmmodel.sampling.beam import beam_search
from slmmodel.sampling.contrastive import contrastive_search
from slmmodel.sampling.prefill import advance, prefill

EVERY = pytest.mark.parametrize("name", VARIANTS)
PROMPTS = [[5], [1, 2, 3, 4, 9, 11], [8, 7, 60], [1, 2, 3]]
GREEDY = SamplingOptions(temperature=0)


@torch.inference_mode()
def recomputed(made: Model, prompt: list[int], options: SamplingOptions, n: int, row: int = 0) -> list[int]:
    """The reference implementation: one row, the whole sequence recomputed for each id, no state."""
    found: list[int] = []
    for _ in range(n):
        whole = torch.tensor([prompt + found])
        logits = made(whole).logits
        assert logits is not None
        at = StepContext(whole, torch.ones_like(whole, dtype=torch.bool), len(prompt), torch.tensor([row]))
        found.append(int(pick(options, at, logits[:, -1])))
        if found[-1] in options.stop_ids:
            return found[:-1]
    return found


OPTIONS = [
    GREEDY,
    SamplingOptions(seed=3),
    SamplingOptions(seed=4, temperature=0.7, top_k=20, top_p=0.9, min_p=0.01, repetition_penalty=1.2),
    SamplingOptions(seed=5, no_repeat_ngram=2, frequency_penalty=0.3, presence_penalty=0.2, banned=(1, 2, 3)),
    SamplingOptions(seed=6, stop_ids=tuple(range(20)), min_new_tokens=3),
]


@EVERY
@pytest.mark.parametrize("options", OPTIONS)
def test_a_ragged_batch_equals_recomputing_each_row_alone(name: str, options: SamplingOptions) -> None:
    made = model(name)
    together = generate(made, PROMPTS, options, max_new_tokens=12)
    for row, (prompt, sample) in enumerate(zip(PROMPTS, together, strict=True)):
        assert sample.ids == recomputed(made, prompt, options, 12, row)
        assert sample.prompt == prompt
        alone = generate(made, [prompt], options, max_new_tokens=12, first_row=row)[0]
        assert (alone.ids, alone.reason) == (sample.ids, sample.reason)


@EVERY
def test_a_row_ends_at_the_context_or_slides(name: str) -> None:
    made = model(name)
    long = ids(1, SEQ_LEN - 3, seed=7)[0].tolist()
    stopped = generate(made, [long, [1]], GREEDY, max_new_tokens=40)
    unbounded = made.config.unbounded
    assert (len(stopped[0].ids), stopped[0].reason) == ((40, "length") if unbounded else (4, "context"))
    assert (len(stopped[1].ids), stopped[1].reason) == ((40, "length") if unbounded else (SEQ_LEN, "context"))
    slid = generate(made, [long, [1]], SamplingOptions(seed=1), max_new_tokens=40, overflow="slide")
    assert [(len(s.ids), s.reason) for s in slid] == [(40, "length")] * 2
    for row, prompt in enumerate((long, [1])):
        alone = generate(made, [prompt], SamplingOptions(seed=1), max_new_tokens=40, overflow="slide", first_row=row)
        assert alone[0].ids == slid[row].ids


@torch.inference_mode()
def test_sliding_goes_on_from_the_last_half() -> None:
    made = model("llama")
    prompt = ids(1, SEQ_LEN)[0].tolist()
    found = generate(made, [prompt], GREEDY, max_new_tokens=3, overflow="slide")[0].ids
    first = recomputed(made, prompt, GREEDY, 1)
    assert found == first + recomputed(made, (prompt + first)[-(SEQ_LEN // 2) :], GREEDY, 2)


def test_steps_tell_rows_and_ids_and_a_row_can_be_stopped() -> None:
    generation = Generation(model("llama"), PROMPTS, SamplingOptions(seed=2), max_new_tokens=8)
    heard: dict[int, list[int]] = {row: [] for row in range(4)}
    for number, step in enumerate(generation):
        for row, id in step:
            heard[row].append(id)
        if number == 2:
            generation.stop(1)
    assert [sample.ids for sample in generation.samples] == list(heard.values())
    assert [len(ids_) for ids_ in heard.values()] == [8, 3, 8, 8]
    assert [sample.reason for sample in generation.samples] == ["length", "stop", "length", "length"]


def test_a_model_in_training_is_given_back_in_training() -> None:
    made = model("llama", dropout=0.5).train()
    assert generate(made, [[1]], GREEDY, max_new_tokens=5) == generate(made, [[1]], GREEDY, max_new_tokens=5)
    assert made.training


@pytest.mark.parametrize(
    ("prompts", "fact"),
    [([[]], "no ids"), ([[1], [N_VOCAB]], f"the id {N_VOCAB}"), ([[0] * (SEQ_LEN + 1)], f"{SEQ_LEN + 1} ids")],
)
def test_prompts_that_are_refused(prompts: list[list[int]], fact: str) -> None:
    for start in (
        lambda: generate(model("llama"), prompts),
        lambda: beam_search(model("llama"), prompts[-1], decoding(beam=5)),
        lambda: contrastive_search(model("llama"), prompts[-1], decoding(contrastive=0.6)),
    ):
        with pytest.raises(InvalidInput, match=fact):
            start()


def test_a_prompt_without_ids_names_an_id() -> None:
    with pytest.raises(InvalidInput, match=r"fix:   \[run\.vocab\.special\('bos'\)\] begins a document"):
        generate(model("llama"), [[]])


@pytest.mark.parametrize("options", [{"overflow": "wrap"}, {"max_new_tokens": -1}])
def test_options_that_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        generate(model("llama"), [[1]], **options)
    with pytest.raises(OptionError, match="beam"):
        beam_search(model("llama"), [1], decoding(beam=0))
    with pytest.raises(OptionError, match="contrastive"):
        contrastive_search(model("llama"), [1], decoding(contrastive=1.5))


@EVERY
@torch.inference_mode()
def test_reading_prompts_gives_what_each_gives_alone(name: str) -> None:
    made = model(name)
    state, logits = prefill(made, PROMPTS, 3)
    assert state.length.tolist() == [len(prompt) for prompt in PROMPTS]
    after, _ = advance(made, state, torch.tensor([1, 2, 3, 4]))
    for row, prompt in enumerate(PROMPTS):
        alone = made(torch.tensor([prompt]))
        assert alone.logits is not None
        torch.testing.assert_close(logits[row], alone.logits[0, -1], atol=1e-5, rtol=1e-5)
        next_one = made(torch.tensor([[*prompt, row + 1]])).logits
        assert next_one is not None
        torch.testing.assert_close(after[row], next_one[0, -1], atol=1e-5, rtol=1e-5)


def test_the_variants_cover_the_registry() -> None:
    assert {config(name).arch for name in VARIANTS} == set(MODELS)
