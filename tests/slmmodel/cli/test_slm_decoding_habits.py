"""`slm sample` with options of decoding as Hugging Face has them: the fix of all of them together is one command."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from printed_fixes import fix_in
from slm_folder import make_folder

from slmmodel.cli.decoding_habits import FOREIGN
from slmmodel.foreign_decoding import HABITS

FLAGS = [
    *("--do_sample", "--do_sample True", "--do-sample=False", "--greedy"),
    *("--num_beams 1", "--num_beams 4", "--beam 2", "--num-beam-groups 2"),
    *("--penalty_alpha 0.6", "--temperature 0", "--temperature 0.7", "--temp 0.5"),
    *("--top_k 5", "--top-p 0.9", "--early_stopping True", "--length_penalty -1.0", "--diversity_penalty 0.3"),
    *("--repetition_penalty 1.2", "--no_repeat_ngram_size 3"),
    *("--num_return_sequences 1", "--num_return_sequences 3", "--num-samples 2", "--n 2"),
    *("--max_length 5", "--min_length 2", "--max_tokens 4", "--max-new 4"),
    *("--pad_token_id 1", "--eos_token_id 2", "--bad_words_ids 5"),
    *("--use_cache", "--use_cache True", "--output_scores"),
    "--seed 3",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("made"), "--no-eval")


@pytest.fixture
def here(slm, folder, monkeypatch):
    """Commands in a folder with a run, which none of them changes."""
    monkeypatch.chdir(folder)
    return slm


def _pasted(fix: str, words: list[str]) -> list[str]:
    """The arguments of the line that a fix is, or has in the place of the one that is wrong."""
    text = fix.partition(", ")[0]
    if text.startswith("slm "):
        return shlex.split(text)[1:]
    # One option was wrong.
    at = next(at for at, word in enumerate(words) if _name(word) in FOREIGN or word == "--temp")
    has_value = "=" not in words[at] and at + 1 < len(words) and not words[at + 1].startswith("--")
    mended = [] if text.startswith("leave it out") else shlex.split(text.removeprefix("use "))
    return ["sample", "run", "the", *words[:at], *mended, *words[at + 1 + has_value :]]


def _name(word: str) -> str:
    return word.partition("=")[0].lstrip("-").replace("-", "_")


def test_the_fix_of_two_options_is_a_command(here):
    """Of fixes that are the same command, one is run."""
    failed, done = [], {}
    for first, second in itertools.combinations(FLAGS, 2):
        words = f"{first} {second}".split()
        if not {*map(_name, words)} & {*FOREIGN}:
            continue
        error = here("sample", "run", "the", *words, code=2).err
        pasted = _pasted(fix_in(error), words)
        length = [] if "--max-new" in pasted else ["--max-new", "3"]
        line = (*pasted, *length)
        if line not in done:
            done[line] = here(*line)
        if done[line].code:
            failed.append((words, fix_in(error), done[line].err))
    assert not failed, "\n".join(map(str, failed))


@pytest.mark.parametrize(
    ("words", "fix"),
    {
        "--num_beams 4 --temperature 0.7": "--beam 4, without --temperature: beam draws nothing",
        "--num_beams 4 --top_k 5 --top-p 0.9": "--beam 4, without --top_k and --top-p: beam draws nothing",
        "--num_beams 2 --num_return_sequences 3": "--beam 3 --n 3, or --beam 2 --n 2: one sample a beam",
        "--num_beams 4 --num_return_sequences 2": "--beam 4 --n 2",
        "--do_sample --num_beams 4 --temperature 0.7": "--beam-sample 4 --temperature 0.7",
        "--beam 4 --do_sample": "--beam-sample 4",
        "--do_sample False --beam 2": "--beam 2",
        "--num_beams 4 --beam 2": "--beam 2, without --num_beams: beam has the value",
        "--num-samples 2 --n 3": "--n 3, without --num-samples: --n 3 is given",
        "--num_beams 2 --num_beams 4": "--beam 4, without --num_beams: --num_beams 4 is given",
        "--penalty_alpha 0.6 --top_k 4": "--contrastive 0.6 --contrastive-k 4",
        "--do_sample False --temperature 0.7": "--greedy",
        "--do_sample False --num_return_sequences 3": "--greedy, without --num_return_sequences: without draws all are "
        "equal",
    }.items(),
)
def test_two_options_mean_one_thing_together(here, words, fix):
    assert fix_in(here("sample", "run", "the", *words.split(), code=2).err) == f"slm sample run the {fix}"


def test_each_option_of_the_table_is_answered(here):
    for name in HABITS:
        if name not in FOREIGN:
            continue
        fix = fix_in(here("sample", "run", "the", f"--{name}", "2", code=2).err)
        assert fix.startswith(("use --", "leave it out: ")), (name, fix)
    assert not Path("new").exists()
