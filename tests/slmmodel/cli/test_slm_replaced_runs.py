"""Runs that cannot be written, found before the work, and runs that are replaced while a command reads them."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("torch")

from slm_folder import make_folder

from slmmodel.checkpoint import RunFolder

MEASURED = {
    "eval": ("score", ()),
    "prompts": ("measure", ({}, ())),
    "probe": ("measure", {}),
    "passkey": ("measure", ({}, ())),
}
"""Command to the function of its module that measures, and a result of it."""
IN_USE = "was removed or replaced while it was in use"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("made"), "--no-eval")


@pytest.fixture(autouse=True)
def tasks_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The context of the run is shorter than any passkey task, which is refused before the run is opened."""
    monkeypatch.setattr("slmmodel.cli.passkey._check_tasks", lambda *_, **__: None)


def replace_run() -> None:
    """Puts a copy in the place of the run."""
    Path("run").rename("old")
    shutil.copytree("old", "run")


@pytest.mark.parametrize("command", MEASURED)
@pytest.mark.parametrize("place", ["a file", pytest.param("/proc", marks=pytest.mark.skipif(
    sys.platform != "linux", reason="no file can be made in /proc"))])  # fmt: skip
def test_a_run_that_cannot_be_written_is_found_before_the_work(slm, here, monkeypatch, command, place):
    """All documents were scored first."""
    if place == "a file":
        (here / "run/eval").write_text("")
    else:
        (here / "run/eval").symlink_to(place)
    name, _ = MEASURED[command]
    monkeypatch.setattr(import_module(f"slmmodel.cli.{command}"), name, lambda *_, **__: pytest.fail("measured"))
    err = slm(command, "run", code=1).err
    assert "eval is not a folder" in err if place == "a file" else "cannot write 'run/eval/" in err
    assert f"fix:   {'--certificate' if command == 'eval' else '-o'} FILE" in err
    assert os.listdir(here / "run/eval") if place == "/proc" else (here / "run/eval").is_file()  # noqa: PTH208


@pytest.mark.parametrize("command", ["prompts", "probe", "passkey"])
@pytest.mark.parametrize("more", [(), ("-o", "new.json")])
def test_a_result_is_of_the_run_that_was_opened(slm, here, monkeypatch, command, more):
    """The digest of the weights would be that of the new folder."""
    name, result = MEASURED[command]

    def measure(*_: object, **__: object) -> object:
        replace_run()
        return result

    monkeypatch.setattr(import_module(f"slmmodel.cli.{command}"), name, measure)
    assert IN_USE in slm(command, "run", *more, code=1).err
    assert not (here / "run/eval").exists() and not (here / "new.json").exists()


@pytest.mark.parametrize("more", [("--certificate", "new.json"), ("--losses", "new.losses")])
def test_an_evaluation_is_of_the_run_that_was_opened(slm, here, monkeypatch, more):
    command = import_module("slmmodel.cli.eval")
    opened = command.open_documents
    monkeypatch.setattr(command, "open_documents", lambda *given, **more: (opened(*given, **more), replace_run())[0])
    assert IN_USE in slm("eval", "run", "--no-baselines", *more, code=1).err
    assert not (here / "run/eval").exists() and not [*here.glob("new.*")]


def test_an_export_is_of_one_run(slm, here, monkeypatch):
    weights = RunFolder.weights
    calls = list[object]()

    def weights_of_another(self: RunFolder, step: int | None = None) -> Path:
        found = weights(self, step)
        calls.append(step)
        if len(calls) == 1:
            replace_run()
        return found

    monkeypatch.setattr(RunFolder, "weights", weights_of_another)
    assert IN_USE in slm("export", "run", "-o", "new", code=1).err
    assert calls and not (here / "new").exists() and not (here / "new.part").exists()


def test_a_page_is_of_one_run(slm, here, monkeypatch):
    sections = import_module("slmmodel.cli.text_sections")
    samples = sections.samples
    monkeypatch.setattr(sections, "samples", lambda *given: (replace_run(), samples(*given))[1])
    assert IN_USE in slm("report", "run", "-o", "new.html", code=1).err
    assert not (here / "new.html").exists()
