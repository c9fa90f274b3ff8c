"""Options of decoding as Hugging Face has them: the fix is one call, which has the meaning of all of them together."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from slm_folder import make_in_python

import slmmodel
from slmmodel import app
from slmmodel.errors import WrongType
from slmmodel.foreign_decoding import HABITS

VALUES: list[dict[str, Any]] = [
    *({"do_sample": value} for value in (True, False)),
    *({"num_beams": value} for value in (1, 4)),
    {"num_beam_groups": 2},
    {"penalty_alpha": 0.6},
    *({"temperature": value} for value in (0, 0.7, None)),
    *({"top_k": value} for value in (0, 5)),
    {"top_p": 0.9},
    {"typical_p": 0.9},
    *({"early_stopping": value} for value in (True, False)),
    {"length_penalty": 2.0},
    {"diversity_penalty": 0.3},
    {"repetition_penalty": 1.2},
    {"no_repeat_ngram_size": 3},
    *({"num_return_sequences": value} for value in (1, 3)),
    {"n": 2},
    {"greedy": True},
    {"max_length": 5},
    {"min_length": 2},
    {"max_tokens": 4},
    {"max_new_tokens": 4},
    {"pad_token_id": 1},
    {"bos_token_id": 1},
    *({"eos_token_id": value} for value in (2, [2, 3], None)),
    {"bad_words_ids": [[5], [6]]},
    {"attention_mask": None},
    {"use_cache": True},
    {"return_dict_in_generate": True},
    {"output_scores": True},
    {"seed": 3},
]
RUNS: dict[str, Callable[[], Any]] = {"run": lambda: slmmodel.load("run"), "app": lambda: app.load("run")}
OPENED = "slmmodel.app.load('run')"
PROMPTS = {"run": [260, 261], "app": "once"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two steps in `run`."""
    return make_in_python(tmp_path_factory.mktemp("decoding"))


@pytest.fixture
def inside(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


def _call(fix: str, given: dict[str, Any]) -> str:
    """The fix as a call: it is one, or it replaces wrong options of the call."""
    code = fix.partition("  # ")[0]
    if ".generate(" in code:
        # The call opens the run, which this run has been.
        code = re.sub(r"opened_run = [^;]*; ", "", code)
        return re.sub(r"slmmodel\.(app\.)?load\('run'\)\.", "opened_run.", code)
    code = "" if code.startswith("leave it out: ") else code.removesuffix(", which does not count the prompt")
    kept = {name: value for name, value in given.items() if name in ("temperature", "top_k", "top_p", "seed")}
    kept |= {name: given[name] for name in given.keys() - {*HABITS} - {"typical_p"} if given[name] is not None}
    options = {"max_new_tokens": 4, **kept, **eval(f"dict({code})")}
    return f"run.generate(prompt, **{options})"


def _pasted(run: Any, prompt: Any, call: str) -> Any:
    return eval(call, {"run": run, "opened_run": run, "prompt": prompt})


def _answered(run: Any, prompt: Any, given: dict[str, Any]) -> str | None:
    """The fix of a call whose options are not all ours; None where it is right."""
    try:
        run.generate(prompt, **given)
    except WrongType as error:
        assert str(error).startswith("generate() has no option"), (given, str(error))
        return str(error.fix)
    except slmmodel.errors.SlmmodelError:
        # Two of our own options contradict each other.
        assert not {*given} & {*HABITS}, given
    return None


@pytest.mark.parametrize("kind", RUNS)
def test_the_fix_of_two_options_is_a_call(inside: Path, kind: str) -> None:
    """Of fixes that are the same call, one is made; an option of no known meaning is in none, and is named first."""
    run, prompt = RUNS[kind](), PROMPTS[kind]
    failed, called = [], set()
    for first, second in itertools.combinations(VALUES, 2):
        given = {**first, **second}
        if not {*given} & {"max_length", "max_tokens"}:
            given["max_new_tokens"] = 4
        if {*given} & {*HABITS} and (fix := _answered(run, prompt, given)) is not None:
            if "typical_p" in given:
                shown, _, fix = fix.partition("; for the other options ")
                assert shown == f"for typical_p help(slmmodel.{'app.TextRun' if kind == 'app' else 'Run'}.generate)"
            try:
                call = _call(fix, given)
                assert call in called or _pasted(run, prompt, call)
                called.add(call)
            except Exception as error:
                failed.append((given, fix, str(error)))
    assert not failed, "\n".join(map(str, failed))


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        (
            {"do_sample": False, "num_beams": 2, "max_new_tokens": 4},
            "OPENED.generate('once', max_new_tokens=4, beam=2)  # without do_sample: beam draws nothing",
        ),
        (
            {"do_sample": True, "num_beams": 4, "temperature": 0.7},
            "OPENED.generate('once', temperature=0.7, beam_sample=4)  # without do_sample: beam_sample draws",
        ),
        (
            {"num_beams": 4, "temperature": 0.7},
            "OPENED.generate('once', beam=4)  # without temperature: beam draws nothing",
        ),
        (
            {"do_sample": True, "max_length": 5, "pad_token_id": 0, "eos_token_id": 2, "top_k": 0},
            "OPENED.generate('once', top_k=0, stop_ids=(2,), max_new_tokens=5)  # "
            "without pad_token_id: the vocabulary of the run has the special ids; "
            "without do_sample: it draws by default; max_new_tokens does not count the prompt",
        ),
        (
            {"do_sample": True, "num_return_sequences": 3, "seed": 2},
            "opened_run = OPENED; [opened_run.generate('once', seed=seed) for seed in range(2, 5)]  # "
            "without do_sample: it draws by default",
        ),
        (
            {"do_sample": True, "stop": ".", "temprature": 0.5},
            "OPENED.generate('once', temperature=0.5)  # without do_sample: it draws by default; "
            "for stop stop_ids=(2,) ends at an id; to end at a text, cut the new one: text.partition('.')[0]",
        ),
        ({"do_sample": True}, "leave it out: it draws by default"),
        ({"do_sample": False}, "temperature=0"),
        ({"do_sample": False, "temperature": 0.7}, "OPENED.generate('once', temperature=0)"),
        (
            {"num_beam_groups": 2, "num_beams": 1},
            "OPENED.generate('once')  # without num_beams: 1 is no beam search; "
            "without num_beam_groups: only a search with beam obeys it",
        ),
    ],
)
def test_options_together_mean_one_call(inside: Path, given: dict[str, Any], fix: str) -> None:
    run = app.load("run")
    fix = fix.replace("OPENED", OPENED)
    assert _answered(run, "once", given) == fix
    assert _pasted(run, "once", _call(fix, given))


def test_the_call_of_a_text_run_opens_it(inside: Path) -> None:
    """The variable `run` may be a run of ids."""
    run = app.load("run")
    fix = _answered(run, "once", {"max_length": 4, "do_sample": True, "seed": 1})
    assert fix is not None
    made = eval(fix.partition(";")[0], {"slmmodel": slmmodel})
    assert made == run.generate("once", max_new_tokens=4, seed=1)
