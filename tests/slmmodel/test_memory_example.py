"""`examples/long-context/memory.py`: its report of made results, and that finished runs are not repeated."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")

SCRIPT = Path(__file__).parents[2] / "examples" / "long-context" / "memory.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("memory_example", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def passkeys(exact: int) -> dict[str, Any]:
    shares = {"exact": exact, "samples": 10}
    return {"cells": [{"depth": 50.0, **shares}], "by_segments_between": [{"segments": 2, **shares}]}


def test_finished_runs_are_read_and_compared(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    better = {"off": (0.0, 0), "linear": (-0.02, 3), "delta": (-0.03, 4), "full": (-0.1, 9)}
    for task in ("books", "passkey"):
        for arm, (less, exact) in better.items():
            for seed, noise in enumerate((0.0, 0.001, 0.002)):
                run = tmp_path / f"{task}-{arm}-{seed}"
                (run / "eval").mkdir(parents=True)
                made = {"val_bpb": 2.0 + noise + less * (1 + noise), "seconds": 60.0 + seed}
                (run / "result.json").write_text(json.dumps(made))
                for name, right in {"passkey": exact, "passkey-ignore-memory": 0}.items():
                    (run / "eval" / f"{name}.json").write_text(json.dumps({"payload": passkeys(right)}))
    (tmp_path / "data").mkdir()
    for name in ("tok.json", "data/manifest.json"):
        (tmp_path / name).touch()
    monkeypatch.setattr(script, "run_command", lambda *words: pytest.fail(f"ran {words}"))
    monkeypatch.setattr("sys.argv", ["memory.py", "books.jsonl", "-o", str(tmp_path), "--jobs", "2"])
    script.main()
    out = capsys.readouterr().out
    assert out == (tmp_path / "report.txt").read_text()
    assert out.count("  off     2.0010\n") == 2
    assert out.count("-0.0200 (-0.0201 to -0.0200)") == 2
    assert out.count("  delta      40 (25-58)\n") == 2, "by depth and by distance"
    assert out.count("  delta        0 (0-11)\n") == 1, "without the memory"
    assert "training took 61 s in the median, at most 62 s" in out


def test_a_small_experiment_runs_and_continues(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: Mapping[str, str]
) -> None:
    """A run of a few steps; the second time nothing is trained or asked again."""

    def call(line: list[str]) -> int:
        """What the script calls as `python -m` is a command that has imported torch."""
        name = {"slmmodel": "slm", "slmtok": "slmtok"}[line[2]]
        return subprocess.run([name, *line[3:]], env=commands, check=False).returncode

    monkeypatch.setattr(script.subprocess, "call", call)
    text = tmp_path / "text.jsonl"
    sentences = ("The key of the house is old.", "Here we go, said the fox.", "A blue sky, and green grass.")
    text.write_text("".join(json.dumps({"text": f"{n} {sentences[n % 3]} " * 40}) + "\n" for n in range(60)))
    for name, value in {"SAMPLES": "2", "LENGTHS": "64", "DEPTHS": "0,100", "REPEATED_NUMBERS": 1}.items():
        monkeypatch.setattr(script, name, value)

    def found() -> dict[str, Any]:
        script.prepare(str(text), tmp_path)
        return script.result_of("passkey", "linear", 0, tmp_path, 0.001)

    first = found()
    assert first["passkey"]["cells"][0]["samples"] == 2 and first["passkey-ignore-memory"]["settings"]["ignore_memory"]
    settings = (tmp_path / "passkey-linear-0" / "config.yaml").read_text()
    assert "memory: linear" in settings and "segment: 16" in settings and "loss_on: answer" in settings
    monkeypatch.setattr(script, "run_command", lambda *words: pytest.fail(f"ran {words}"))
    assert found() == first


def test_intervals(script: ModuleType) -> None:
    assert script.interval([0.5]) == "+0.5000"
    assert script.interval([0.1, 0.2, 0.3]) == "+0.2000 (-0.0484 to +0.4484)"
    assert script.share_text(5, 10) == "50 (24-76)" and script.share_text(0, 120) == "0 (0-3)"
