"""README and `make`: what somebody who cloned the project reads and types first."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from sources import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
ACTIVATE = "source .venv/bin/activate"


def test_the_readme_begins_with_installing_and_activating() -> None:
    first = README.split("\n## ")[1]
    assert first.startswith("Install\n") and "not on PyPI yet" in first
    commands = ("make quickstart", ACTIVATE, "make install", "pip install .", "pip install '.[model]'")
    places = [first.find(command) for command in commands]
    assert -1 not in places and places == sorted(places)


def recipe(target: str, environment: Path) -> list[str]:
    """The commands that `make TARGET` would run where nothing is installed."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    command = [make, "-n", target, f"VENV={environment}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_quickstart_makes_a_tokenizer_before_it_installs_torch(tmp_path: Path) -> None:
    lines = recipe("quickstart", tmp_path / "env")
    stages = [number for number, line in enumerate(lines) if re.search(r"Stage [12] of 2, about \d minutes", line)]
    assert len(stages) == 2
    first, second = lines[: stages[1]], lines[stages[1] :]
    assert any("quickstart.sh tokenizer" in line for line in first)
    assert not any(re.search(r"--extras|group (test|bench)|\[model\]", line) for line in first)
    assert any("--extras model" in line for line in second) and any("quickstart.sh model" in line for line in second)
    assert "quickstart.sh activate" in lines[-1]


def test_installing_leaves_out_the_tools_of_tests(tmp_path: Path) -> None:
    lines = recipe("install", tmp_path / "env")
    assert any("--extras model" in line for line in lines) and "quickstart.sh activate" in lines[-1]
    assert not any(re.search(r"group (test|bench)", line) for line in lines)


def test_the_script_trains_for_a_minute_and_says_how_to_activate() -> None:
    script = ROOT / "examples/quickstart.sh"
    trained = [line for line in script.read_text(encoding="utf-8").splitlines() if "slm demo" in line]
    assert trained == ["  show slm demo -o model --budget time=60s --force"]
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    assert f"\n  {ACTIVATE}\n" in subprocess.run([bash, script, "activate"], capture_output=True, text=True).stdout
