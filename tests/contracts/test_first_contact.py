"""README, `make` and platforms: what somebody who cloned the project reads and types first."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize("word", ["packed", "bundle", "certificate", "receipt"])
def test_the_readme_explains_its_words_where_it_first_uses_them(word: str) -> None:
    """They are in italics there; text of commands does not count."""
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", README, flags=re.DOTALL)
    first = re.search(rf"\b{word}\b", prose)
    assert first is not None and prose[first.start() - 1 : first.end() + 1] == f"*{word}*"


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


def test_the_tests_on_aarch64_name_what_they_need(tmp_path: Path) -> None:
    """`make test` leaves them out, since a machine seldom has a compiler and an emulator for it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    parts = re.search(r"^test: cargo ##[^\n]*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert parts and parts[1].split() == ["@$(MAKE)", "-j2", "rust", "check-python", "@$(MAKE)", "python-test"]
    assert "\nrust: $(VENV)/.engine\n\t@$(MAKE) check-rust\n\t@$(MAKE) rust-test\n\n" in makefile
    script, bash = ROOT / "rust/test-aarch64.sh", shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    environment = {**os.environ, "AARCH64_RUSTC": str(tmp_path / "none")}
    done = subprocess.run([bash, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("not run: ")
    assert "apt install rustc-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu qemu-user-static" in done.stderr


def test_the_docs_say_which_systems_were_not_run() -> None:
    lines = (ROOT / "docs/guide/platforms.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith(("| macOS arm64", "| Windows x86-64"))]
    assert len(rows) == 2 and all(row.count("written, **not run**") == 2 for row in rows)
