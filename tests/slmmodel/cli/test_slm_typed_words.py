"""Words of `slm` that are typed or pasted with more than a command takes: signs of a shell and of an editor."""

from __future__ import annotations

import shlex

import pytest

from slmmodel.checks import missing_path


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (("train", "data", ""), "slm train data"),
        (("sample", "run", "Once", "--max-new", "3", "#", "hello"), "slm sample run Once --max-new 3"),
        (("eval", "run", "#", "bits", "per", "byte,", "once"), "slm eval run"),
        (("train", "data", "-o", "r", "#", "without", "--budget,", "that"), "slm train data -o r"),
        (("train", "data", "&&", "slm", "eval", "run"), "slm train data && slm eval run"),
        (("sample", "run", "--prompt", "“Once", "upon", "a", "time”"), "slm sample run --prompt 'Once upon a time'"),
        (("sample", "run", "“Once", "upon", "a", "time”"), "slm sample run 'Once upon a time'"),
        (("slm", "train", "data"), "slm train data"),
        (("slmtok", "pack", "a.txt"), "slmtok pack a.txt"),
    ],
)
def test_the_line_that_was_meant(slm, tmp_path, words, fix):
    err = slm(*words, code=2).err
    assert err.splitlines()[-1].endswith(fix) and "fault of" not in err
    assert "besides" in err or f"fix:   {fix}" in err


def test_points_between_thousands(slm):
    err = slm("sample", "run", "--max-new", "1.000", code=2).err
    assert "fix:   --max-new 1000, or --max-new 1" in err
    err = slm("train", "data", "--budget", "steps=1.000", code=2).err
    assert "fix:   --budget steps=1000, or --budget steps=1\n" in err
    assert "fix:   --budget tokens=20500\n" in slm("train", "data", "--budget", "tokens=20.500", code=2).err


@pytest.mark.parametrize("more", [(), ("-t", "tok.json")])
def test_the_files_of_packed_data_are_their_folder(slm, tmp_path, more):
    (tmp_path / "data").mkdir()
    for name in ("manifest.json", "train-00000.bin", "val-00000.bin"):
        (tmp_path / "data" / name).write_text("{}")
    err = slm("train", "data/train-00000.bin", "data/val-00000.bin", "-o", "run", *more, code=2).err
    assert "fix:   slm train data -o run\n" in err


def test_a_path_of_windows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    error = missing_path("texts\\a.txt", "name another")
    assert error.fix == "name another"
    (tmp_path / "texts" / "a.txt").write_text("a cat")
    error = missing_path("texts\\a.txt", "name another")
    assert error.fix == "'texts/a.txt'" and "'/' divides folders here" in error.fact


@pytest.mark.parametrize(
    ("words", "fix"),
    {
        # Without the rule, the fix was to train for 20 ids.
        "--budget tokens=20 K": "slm train data -o new --budget tokens=20K",
        "--budget=tokens=20 M": "slm train data -o new --budget=tokens=20M",
        "--budget tokens=2 000 000": "slm train data -o new --budget tokens=2000000",
        "--budget bytes=2 MB": "slm train data -o new --budget bytes=2MB",
        "--budget time=2 min": "slm train data -o new --budget time=2min",
        "--budget time=2 Minutes": "slm train data -o new --budget time=2min",
        "--budget time=1 hour 30 min": "slm train data -o new --budget time=5400s",
        "--set run.batch_tokens=32 K": "slm train data -o new --set run.batch_tokens=32K",
        "--budget 20 K": "use --budget 'tokens=20 K'",
    }.items(),
)
def test_a_number_and_its_unit_are_one_word(slm, tmp_path, words, fix):
    (tmp_path / "data").mkdir()
    assert f"  fix:   {fix}\n" in slm("train", "data", "-o", "new", *words.split(), code=2).err
    # The line is sound but for the data, which are none.
    assert fix.startswith("use ") or "data" in slm(*shlex.split(fix)[1:], code=1).err.splitlines()[0]
