"""Relative paths of Python calls hold in the folder in which the call was made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from slm_folder import SHAPE, make_folder

import slmmodel
import slmtok
from slmmodel import app

SETTINGS = {"model." + name: int(value) for name, _, value in (each.partition("=") for each in SHAPE)}
SETTINGS |= {"run.batch_tokens": 16, "run.threads": 1, "run.device": "cpu", "run.save_every": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("made"), "--no-eval")


@pytest.mark.parametrize("data", ["packed", "text", "texts"])
def test_a_change_of_the_working_folder_in_training(made: Path, tmp_path: Path, monkeypatch: Any, data: str) -> None:
    """Intact data were called missing, and the run ended."""
    monkeypatch.chdir(made)
    from slmmodel.training.metrics import Monitor

    report = Monitor.report

    def report_elsewhere(self: Monitor, *arguments: Any) -> None:
        os.chdir(tmp_path)
        report(self, *arguments)

    monkeypatch.setattr(Monitor, "report", report_elsewhere)
    options: dict[str, Any] = {"preset": "cpu-demo", "budget": "steps=6", "settings": SETTINGS, "output": data}
    if data == "packed":
        run: Any = slmmodel.train("data", **options)
    else:
        given = "text.txt" if data == "text" else slmtok.Texts([Path("text.txt").read_text()])
        run = app.train(given, tokenizer="tok.json", progress=False, **options).run
    assert run.path == made / data and run.result["steps"] == 6
    assert not list(tmp_path.iterdir())


def test_the_path_of_a_run_stays_as_it_was_given(made: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(made)
    run = slmmodel.train("data", preset="cpu-demo", budget="steps=2", settings=SETTINGS, output="relative")
    assert os.fspath(run.path) == "relative"
