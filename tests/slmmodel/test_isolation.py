"""Package isolation: training, evaluation and sampling work without slmtok. Registries of data; the list of errors."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import made_shards as made
import pytest

from slmmodel import errors
from slmmodel.data.foreign import LAYOUTS
from slmmodel.data.packs import PACKS
from slmmodel.data.windows import WINDOWS

ROOT = Path(__file__).resolve().parents[2]
BLOCKED = """
import sys

RUNTIME = ("errors", "indexing", "sizes", "envelope", "atomic", "checks", "files", "opening", "strict_json")
RUNTIME += ("schema", "json_files", "file_kinds", "background", "interrupts", "foreign_options", "record_texts")
# The options of a corpus, from which commands generate their flags.
RUNTIME += ("options", "option_values", "text_encodings", "aliases", "calls", "schemes", "specials", "vocabulary")
# What `files` and `calls` know of paths, and `errors` of shells, and functions that report progress.
RUNTIME += ("path_arguments", "shell_commands", "given_values", "placeholders", "callbacks")
# How a program begins, forks and ends, and the memory in which it loads torch.
RUNTIME += ("entry_point", "imports_before_fork", "system_memory")


class Blocker:
    def find_spec(self, name, path=None, target=None):
        runtime = ("slmtok", *(f"slmtok.{part}" for part in RUNTIME))
        if name.partition(".")[0] == "slmtok" and name not in runtime and not name.startswith("slmtok.cli"):
            raise ModuleNotFoundError(f"no module named {name}", name=name)


sys.meta_path.insert(0, Blocker())
from slmmodel.cli import main

small = [part for setting in SETTINGS for part in ("--set", setting)]
assert main(["train", "data", "-o", "run", "--budget", "steps=3", "--quiet", *small]) == 0
assert main(["eval", "run", "--quiet"]) == 0
assert main(["eval", "--check", "run/eval/val.json", "--quiet"]) == 0
assert main(["sample", "run", "--ids", "1,20,30", "--max-new", "5"]) == 0
assert main(["batches", "run", "--n", "1"]) == 0
assert "slmtok._native" not in sys.modules
"""
SETTINGS = ["model.arch=llama", "model.d_model=16", "model.n_layers=1", "model.n_heads=2", "model.n_kv_heads=2"]
SETTINGS += ["model.seq_len=16", "run.batch_tokens=64"]


def test_trains_evaluates_and_samples_without_slmtok(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    made.write_data(tmp_path / "data", {"train": [made.documents([90, 40])], "val": [made.documents([20] * 3)]})
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED.replace("SETTINGS", repr(SETTINGS))],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("registry", [PACKS, WINDOWS])
def test_each_strategy_is_registered_under_its_name(registry: dict[str, type]) -> None:
    for name, strategy in registry.items():
        assert strategy.name == name  # type: ignore[attr-defined]


def test_strategies_have_distinct_names() -> None:
    assert not set(PACKS) & set(WINDOWS)
    assert all(layout.summary for layout in LAYOUTS.values())


def test_every_error_is_listed_with_its_meaning() -> None:
    tree = ast.parse((ROOT / "slmmodel/errors.py").read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef)} - {
        "Argument",
        "OfCommand",
        "SlmmodelError",
    }
    assert {error.__name__ for error in errors.ERRORS} == defined
    assert all(error.__doc__ for error in errors.ERRORS)
