"""Beam search against exhaustive search and greedy; contrastive search against its definition and greedy."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from slmmodel_tiny import SEQ_LEN, VARIANTS, decoding, model

from slmmodel.decoding_options import DecodingOptions
from slmmodel.errors import OptionError, WrongType
from slmmodel.generation import generate
from slmmodel.models.protocol import Model
from slmmodel.sampling import SamplingOptions
from slmmodel.sampling.beam import beam_search
from slmmodel.sampling.beam_sample import beam_sample
from slmmodel.sampling.contrastive import contrastive_search
from slmmodel.sampling.dola import dola

EVERY = pytest.mark.parametrize("name", VARIANTS)
PROMPT = [1, 2, 3]
GREEDY = SamplingOptions(temperature=0)


@torch.inference_mode()
def logp(made: Model, prompt: list[int], ids: tuple[int, ...]) -> float:
    logits = made(torch.tensor([prompt + list(ids)])).logits
    assert logits is not None
    table = torch.log_softmax(logits[0].double(), -1)
    return sum(float(table[len(prompt) - 1 + at, id]) for at, id in enumerate(ids))


@pytest.mark.parametrize("name", ["llama", "gpt2", "lstm"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_wide_beam_is_an_exhaustive_search(name: str, alpha: float) -> None:
    made = model(name, n_vocab=5)
    stop, length = 4, 4
    every: list[tuple[float, list[int]]] = []
    for n in range(1, length + 1):
        for ids in itertools.product(range(5), repeat=n):
            if stop in ids[:-1] or (ids[-1] != stop and n < length):
                continue
            every.append((logp(made, PROMPT, ids) / n**alpha, [id for id in ids if id != stop]))
    every.sort(key=lambda pair: -pair[0])
    options = SamplingOptions(stop_ids=(stop,))
    found = beam_search(made, PROMPT, decoding(options, beam=5**4, max_new_tokens=length, length_penalty=alpha))
    assert [beam.ids for beam in found[:20]] == [ids for _, ids in every[:20]]
    for beam, (score, _) in zip(found[:20], every, strict=False):
        assert beam.score == pytest.approx(score, abs=1e-5)
        assert beam.ended == (len(beam.ids) < length)


@EVERY
@pytest.mark.parametrize("stops", [(), tuple(range(25))])
def test_one_beam_is_greedy(name: str, stops: tuple[int, ...]) -> None:
    made, options = model(name), SamplingOptions(temperature=0, stop_ids=stops, repetition_penalty=1.1)
    greedy = generate(made, [PROMPT], options, max_new_tokens=10)[0]
    assert beam_search(made, PROMPT, decoding(options, beam=1, max_new_tokens=10))[0].ids == greedy.ids


@EVERY
def test_beams_are_sorted_distinct_and_score_what_they_say(name: str) -> None:
    made, options = model(name), SamplingOptions(stop_ids=tuple(range(10)))
    found = beam_search(made, PROMPT, decoding(options, beam=4, max_new_tokens=6))
    assert [beam.score for beam in found] == sorted((beam.score for beam in found), reverse=True)
    assert len({tuple(beam.ids) for beam in found if not beam.ended}) == sum(not beam.ended for beam in found)
    for beam in found:
        if not beam.ended:
            assert beam.logp == pytest.approx(logp(made, PROMPT, tuple(beam.ids)), abs=1e-4)
            assert beam.score == pytest.approx(beam.logp / 6)
    early = beam_search(made, PROMPT, decoding(options, beam=4, max_new_tokens=6, early_stopping=True))
    assert len(early) == 4
    assert early[0].score <= found[0].score + 1e-9


def test_a_beam_ends_at_the_context() -> None:
    found = beam_search(model("llama"), [1] * (SEQ_LEN - 2), decoding(beam=3, max_new_tokens=50))
    assert {len(beam.ids) for beam in found} == {3}


Running = list[tuple[float, list[int]]]


def diverse_reference(made: Model, n_vocab: int, size: int, groups: int, penalty: float, n: int) -> list[list[int]]:
    """The published algorithm without stop ids: each group's beams after `n` steps, best first, with lists alone."""
    members: list[Running] = [[(0.0, [])] for _ in range(groups)]
    for _ in range(n):
        taken = [0] * n_vocab
        for number, running in enumerate(members):
            chances = [
                (score - penalty * taken[id], -row, -id, score)
                for row, (before, ids) in enumerate(running)
                for id in range(n_vocab)
                for score in [before + logp(made, PROMPT + ids, (id,))]
            ]
            best = sorted(chances, reverse=True)[:size]
            members[number] = [(score, [*running[-row][1], -id]) for _, row, id, score in best]
            for _, ids in members[number]:
                taken[ids[-1]] += 1
    return [ids for _, ids in sorted((beam for running in members for beam in running), key=lambda beam: -beam[0])]


@pytest.mark.parametrize("name", ["llama", "lstm"])
@pytest.mark.parametrize(("size", "groups", "penalty"), [(2, 2, 0.5), (1, 4, 1.5), (3, 2, 0.1)])
def test_groups_of_beams_equal_their_reference(name: str, size: int, groups: int, penalty: float) -> None:
    made, beams = model(name, n_vocab=9), size * groups
    options = decoding(beam=beams, beam_groups=groups, diversity_penalty=penalty, max_new_tokens=5, length_penalty=0.0)
    found = beam_search(made, PROMPT, options)
    want = diverse_reference(made, 9, size, groups, penalty, 5)
    assert [beam.ids for beam in found] == list(map(list, dict.fromkeys(map(tuple, want))))
    for beam in found:
        assert beam.logp == pytest.approx(logp(made, PROMPT, tuple(beam.ids)), abs=1e-4)


@EVERY
def test_groups_without_a_penalty_are_a_beam_search(name: str) -> None:
    made, options = model(name), SamplingOptions(stop_ids=tuple(range(10)))
    plain = beam_search(made, PROMPT, decoding(options, beam=4, max_new_tokens=6))
    groups = decoding(options, beam=8, beam_groups=2, diversity_penalty=0, max_new_tokens=6)
    found = beam_search(made, PROMPT, groups)
    assert [beam.ids for beam in found] == [beam.ids for beam in plain]
    # Products of twice as many rows may be rounded in another way.
    assert [beam.score for beam in found] == pytest.approx([beam.score for beam in plain], rel=1e-6)


def test_groups_that_are_refused() -> None:
    for wrong in ({"beam": 5, "beam_groups": 2}, {"beam": 2, "beam_groups": 3}, {"diversity_penalty": -1.0}):
        with pytest.raises(OptionError):
            beam_search(model("llama"), PROMPT, decoding(**wrong))


@pytest.mark.parametrize(
    ("search", "fix"),
    [
        (beam_search, "DecodingOptions(seed=3, beam=4)  # without temperature: beam draws nothing"),
        (beam_sample, "DecodingOptions(temperature=0.7, seed=3, beam_sample=4)"),
        (
            contrastive_search,
            "DecodingOptions(seed=3, contrastive=0.3)  # without temperature: contrastive draws nothing",
        ),
        (dola, "DecodingOptions(temperature=0.7, seed=3, dola='low')"),
    ],
)
def test_a_search_says_which_options_select_it(search: Any, fix: str) -> None:
    made, given = model("llama"), {"temperature": 0.7, "seed": 3}
    for options in (SamplingOptions(**given), given):
        with pytest.raises(WrongType, match="not DecodingOptions") as caught:
            search(made, PROMPT, options)
        assert caught.value.fix == fix
    options = eval(fix.partition(", without")[0], {"DecodingOptions": DecodingOptions})
    assert search(made, PROMPT, options.model_copy(update={"max_new_tokens": 2}))
    with pytest.raises(OptionError, match="that selects this method") as unselected:
        search(made, PROMPT, DecodingOptions(**given))
    assert str(unselected.value.fix) in fix


@EVERY
@pytest.mark.parametrize(("alpha", "k"), [(0.0, 4), (0.6, 1)])
def test_contrastive_search_without_contrast_is_greedy(name: str, alpha: float, k: int) -> None:
    made = model(name)
    for options in (GREEDY, SamplingOptions(temperature=0, stop_ids=tuple(range(30)), min_new_tokens=2)):
        greedy = generate(made, [PROMPT], options, max_new_tokens=40)[0]
        found = contrastive_search(
            made, PROMPT, decoding(options, contrastive=alpha, contrastive_k=k, max_new_tokens=40)
        )
        assert (found.ids, found.reason) == (greedy.ids, greedy.reason)


@EVERY
@torch.inference_mode()
def test_contrastive_search_is_what_its_formula_says(name: str) -> None:
    made, alpha, k, whole = model(name), 0.5, 4, list(PROMPT)
    for _ in range(6):
        out = made(torch.tensor([whole]))
        assert out.logits is not None
        p = torch.softmax(out.logits[0, -1].double(), 0)
        best: tuple[float, int] = (float("-inf"), 0)
        for id in p.argsort(descending=True)[:k].tolist():
            hidden = torch.nn.functional.normalize(made(torch.tensor([[*whole, id]])).hidden[0], dim=-1)
            score = (1 - alpha) * float(p[id]) - alpha * float((hidden[:-1] @ hidden[-1]).max())
            best = max(best, (score, id), key=lambda pair: pair[0])
        whole.append(best[1])
    found = contrastive_search(made, PROMPT, decoding(contrastive=alpha, contrastive_k=k, max_new_tokens=6))
    assert found.ids == whole[len(PROMPT) :]
    assert -1 <= found.numbers["mean_cosine"] <= 1


def test_contrastive_search_never_takes_a_banned_id() -> None:
    made = model("llama", n_vocab=6)
    options = decoding(banned=(0, 1, 2, 3), contrastive=1.0, contrastive_k=6, max_new_tokens=12)
    found = contrastive_search(made, PROMPT, options)
    assert set(found.ids) <= {4, 5}


def test_no_id_is_left_by_bans_and_repetitions() -> None:
    """Each id may stand once, and all but two are banned."""
    made = model("llama", n_vocab=20)
    options = SamplingOptions(temperature=0, banned=tuple(range(18)), no_repeat_ngram=1)
    wide = decoding(options, max_new_tokens=5, beam=2)
    searches = {
        "draws": lambda: generate(made, [PROMPT], options, max_new_tokens=5),
        "beam": lambda: beam_search(made, PROMPT, wide),
        "contrastive": lambda: contrastive_search(made, PROMPT, decoding(options, max_new_tokens=5, contrastive=0.3)),
    }
    for search in searches.values():
        with pytest.raises(OptionError, match="no id is left to pick at step 3"):
            search()
    assert len(generate(made, [PROMPT], options, max_new_tokens=2)[0].ids) == 2


def test_a_beam_of_no_ids_is_empty() -> None:
    made = model("llama")
    found = beam_search(made, PROMPT, decoding(GREEDY, max_new_tokens=0, beam=2))
    assert [(beam.ids, beam.logp, beam.ended) for beam in found] == [([], 0.0, False)]
