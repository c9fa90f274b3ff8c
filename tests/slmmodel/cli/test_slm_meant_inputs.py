"""Inputs of `slm` in the place of others: the error says what each is, and its fix, pasted as printed, works."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import TEXT, make_folder

import slmmodel
from slmmodel import app
from slmmodel.errors import MissingInput
from slmtok.errors import MissingInput as MissingFile


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two texts, a tokenizer, packed data of each, and a run of two steps."""
    import slmtok
    from slmtok.shards import pack

    folder = make_folder(tmp_path_factory.mktemp("made"), "--no-eval")
    (folder / "other.txt").write_text(TEXT * 31)
    pack(str(folder / "other.txt"), slmtok.load(folder / "tok.json"), folder / "data3")
    return folder


@pytest.fixture
def here(slm, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder, which is the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def fix_of(err: str) -> str:
    return re.findall(r"^  fix:   (.*)$", err, re.MULTILINE)[0]


def run_line(slm, line: str, code: int = 0) -> str:
    words = shlex.split(line)
    assert words[0] == "slm", line
    return str(slm(*words[1:], code=code).err)


def test_a_check_takes_no_baselines(slm, here: Path) -> None:
    slm("eval", "run", "--no-baselines", code=0)
    check = ["--check", str(Path("run/eval/val.json"))]
    assert "proven" in slm("eval", "run", "--no-baselines", *check, code=0).out
    assert "--check together with --baselines" in slm("eval", "run", "--baselines", *check, code=2).err


def test_a_similar_name_is_named(slm, here: Path) -> None:
    near = "check the name: there is 'text.txt'"
    for line in ("eval run --on text9.txt", "eval run text9.txt", "train text9.txt", "train text9.txt -t tok.json"):
        assert fix_of(slm(*line.split(), code=1).err) == near, line
    assert fix_of(slm("eval", "run", "--on", "data9", code=1).err).startswith("check the name: there is 'data")
    with pytest.raises(MissingInput) as caught:
        slmmodel.train("dataa", output="new")
    assert caught.value.fix == "check the name: there is 'data'"


def test_a_text_in_the_place_of_its_path(here: Path) -> None:
    with pytest.raises(MissingFile) as caught:
        app.train("Once upon a time there was a fox.", tokenizer="tok.json", output="new")
    assert caught.value.fix == "slmtok.Texts([text]), if it is a text; else check the name"
