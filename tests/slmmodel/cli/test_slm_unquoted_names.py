"""Names with a space that stand without quotes: the fix is the line with quotes."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import make_folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs whose names have spaces."""
    folder = make_folder(tmp_path_factory.mktemp("made"), "--no-eval")
    for name in ("run 1", "My runs/run 1"):
        shutil.copytree(folder / "run", folder / name)
    (folder / "run").rename(folder / "first")
    (folder / "My texts.txt").write_text((folder / "text.txt").read_text())
    for name in ("a.losses", "run 2.losses"):
        (folder / name).write_text("")
    return folder


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        # Without the rule, the fixes started a new run, a branch, or took another run.
        "train data -o run 1 --budget tokens=200K": "slm train data -o 'run 1' --budget tokens=200K",
        "resume run 1": "slm resume 'run 1'",
        "sample My runs/run 1 -p Once --max-new 5": "slm sample 'My runs/run 1' -p Once --max-new 5",
        "eval My runs/run 1": "slm eval 'My runs/run 1'",
        "plot first run 1 -o two.png": "slm plot first 'run 1' -o two.png",
        "eval first --on My texts.txt": "slm eval first --on 'My texts.txt'",
        "compare a.losses run 2.losses": "slm compare a.losses 'run 2.losses'",
        "doctor run 1": "slm doctor 'run 1'",
        "train data -o My runs/new": "slm train data -o 'My runs/new'",
        "train data -o run 1 --budget tokens=20 K": "slm train data -o 'run 1' --budget tokens=20K",
    }.items(),
)
@pytest.mark.parametrize("has_other", [False, True])
def test_a_name_with_a_space_gets_quotes(slm, here: Path, line: str, fix: str, has_other: bool) -> None:
    """Also where the last word is a run of its own."""
    if has_other:
        shutil.copytree(here / "first", here / "1")
    before = {*here.rglob("*")}
    assert f"  fix:   {fix}\n" in slm(*shlex.split(line)).err
    assert {*here.rglob("*")} == before
