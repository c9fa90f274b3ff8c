"""`examples/long-context/memory.py`: its report of made results, and that finished runs are not repeated."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "long-context" / "memory.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("memory_example", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def result(bpb: float, exact: int) -> dict[str, Any]:
    cell = {"depth": 50.0, "exact": exact, "samples": 10, "answer_ids_correct": 6 * exact, "answer_ids": 60}
    return {"val_bpb": bpb, "cells": [cell]}


def test_finished_runs_are_read_and_compared(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    better = {"off": (0.0, 0), "linear": (-0.02, 3), "delta": (-0.03, 4), "full": (-0.1, 9)}
    for arm, (less, exact) in better.items():
        for seed, noise in enumerate((0.0, 0.001, 0.002)):
            run = tmp_path / f"{arm}-{seed}"
            (run / "eval").mkdir(parents=True)
            made = result(2.0 + noise + less * (1 + noise), exact)
            (run / "result.json").write_text(json.dumps({"val_bpb": made["val_bpb"]}))
            (run / "eval" / "passkey.json").write_text(json.dumps({"payload": made}))
    monkeypatch.setattr(script, "slm", lambda *words: pytest.fail(f"ran {words}"))
    monkeypatch.setattr("sys.argv", ["memory.py", "data", "-o", str(tmp_path)])
    script.main()
    out = capsys.readouterr().out
    assert out == (tmp_path / "report.txt").read_text()
    assert "  off     2.0010\n" in out.replace("2.0010  ", "2.0010")
    assert "-0.0200 (-0.0201 to -0.0200)" in out
    assert "  delta   depth    50 %   12/30" in out and "ids 72/180" in out


def test_intervals(script: ModuleType) -> None:
    assert script.interval([0.5]) == "+0.5000"
    assert script.interval([0.1, 0.2, 0.3]) == "+0.2000 (-0.0483 to +0.4483)"
    assert script.wilson(5, 10) == "5/10  24-76 %"
