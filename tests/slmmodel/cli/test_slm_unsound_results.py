"""Calls whose result would be wrong without a word: refused or noted, with the call that gives a sound one."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

pytest.importorskip("torch")

from slm_folder import TRAIN, make_folder

import slmtok


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, a tokenizer, packed data and a run of two steps."""
    return make_folder(tmp_path_factory.mktemp("made"), "--no-eval")


@pytest.mark.parametrize("to", ["hf", "tiktoken"])
def test_a_tokenizer_is_not_exported_into_a_run(here, capfd, to) -> None:
    """transformers and slm would read different tokenizers there."""
    from slmtok.cli import main

    files = sorted(Path("run").iterdir())
    for force in ([], ["--force"]):
        assert main(["export", "tok.json", "--output-format", to, "-o", "run", "--no-verify", *force]) == 1
        err = capfd.readouterr().err
        assert "error: output 'run' is a run, and not an export\n" in err
        assert err.endswith("  fix:   name another --output: export\n")
    assert sorted(Path("run").iterdir()) == files
    assert main(["export", "tok.json", "--output-format", to, "-o", "export", "--no-verify", "-q"]) == 0


def test_the_name_of_a_model_that_is_also_an_encoding(slm) -> None:
    for more in ("", " --on h100:4"):
        err = slm("info", "gpt2", *shlex.split(more), code=2).err
        assert "unknown preset 'gpt2'; did you mean 'gpt2-124m'?" in err
        assert err.endswith(f"  fix:   slm info gpt2-124m{more}, or slmtok info gpt2 for the tokenizer\n")
    assert slm("info", "cl100k_base").err.endswith("  fix:   slmtok info cl100k_base\n")


def test_an_interval_of_too_few_resamples(slm) -> None:
    err = slm("compare", "a.losses", "b.losses", "--resamples", 1, code=2).err
    assert "--resamples takes an integer from 100 to 10,000,000, not '1'" in err


def test_data_that_were_packed_again_with_another_tokenizer(slm, here) -> None:
    """The fix packs the text with the tokenizer of the run, and runs the same command with these data."""
    from slmtok.cli import main as commands
    from slmtok.shards import pack

    words = ["train", "data", "-o", "own", "--budget", "steps=2", "--preset=cpu-demo", *TRAIN]
    slm(*words, "--no-eval", code=0)
    Path("own/result.json").unlink()
    pack("text.txt", slmtok.slice(slmtok.load("tok.json"), 280), "data", force=True)
    for named, run in ((words, "own"), (["eval", "run", "--on", "data"], "run")):
        err = slm(*named, code=1).err
        assert f"error: the data were made with another tokenizer than the model of {run}\n" in err
        again = f"slmtok pack text.txt -t {run}/tok.json -o NEW"
        line = shlex.join(["slm", *("NEW" if word == "data" else word for word in named)])
        assert err.endswith(f"  fix:   pack its text again with the tokenizer of the run: {again} && {line}\n")
    err = slm("resume", "own", "--no-eval", code=1).err
    again = "slmtok pack text.txt -t own/tok.json -o NEW"
    going_on = "slm resume own --no-eval --data NEW"
    assert err.endswith(f"  fix:   pack its text again with the tokenizer of the run: {again} && {going_on}\n")
    assert commands(shlex.split(again)[1:]) == 0
    slm(*shlex.split(going_on)[1:], code=0)
    slm("train", "NEW", *words[2:], code=0)
    slm("eval", "run", "--on", "NEW", code=0)


def test_answers_that_are_longer_than_what_is_generated(slm, here) -> None:
    size = ["--set=model.seq_len=256", "--set=run.batch_tokens=256"]
    slm("train", "data", "-o", "long", "--budget", "steps=1", "--preset=cpu-demo", "--no-eval", *TRAIN, *size, code=0)
    line = ["passkey", "long", "--lengths", 250, "--digits", 9, "--samples", 1, "--depths", 0]
    err = slm(*line, "--max-new", 3, code=2).err
    assert "error: --max-new is 3, and an answer has 10 ids\n" in err
    assert err.endswith("  fix:   --max-new 10\n")
    slm(*line, "--max-new", 10, code=0)


def test_a_sample_that_is_no_whole_choice(slm, here) -> None:
    line = ["sample", "run", "the", "--choice", " yes yes yes", "--choice", " no", "--n", 2]
    note = "note: 2 of 2 samples ended before the end of a --choice; a larger --max-new than 1 may let it\n"
    assert note in slm(*line, "--max-new", 1, code=0).err
    assert "--choice" not in slm(*line, "--max-new", 20, code=0).err


def test_a_share_in_percent_without_its_sign(slm) -> None:
    """The default would be another margin than the one that is meant."""
    for value, meant in (("1", "1%"), ("2.5", "2.5%"), ("100", "0.25%, for instance")):
        err = slm("ablate", "--text", "a.txt", "--vocabs", "400,600", "--margin", value, "-o", "new", code=2).err
        assert err.endswith(f"  fix:   --margin {meant}\n")
