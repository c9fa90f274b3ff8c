"""Who imports whom: the ladder of pyproject.toml, the one door to the compiled module, and what costs time at start."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest
from sources import ROOT, imported, library, name, tree

HEAVY = ("numpy", "rich", "typer", "pydantic", "yaml", "regex", "tiktoken", "torch")


def test_import_linter_contracts_hold() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_one_file_imports_the_compiled_module() -> None:
    doors = [name(path) for path in library() if any(module.startswith("slmtok._native") for module in imported(path))]
    assert doors == ["slmtok/_engine.py"]


def test_imports_are_absolute() -> None:
    relative = [
        f"{name(path)}:{node.lineno}"
        for path in library()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


@pytest.mark.parametrize(
    "start",
    [
        "import slmtok",
        "import slmmodel",
        "from slmtok.cli import main; main(['--help'])",
        "from slmmodel.cli import main; main(['--help'])",
    ],
)
def test_the_start_is_light(start: str) -> None:
    # `main` may end by SystemExit; what counts is what it has imported by then.
    code = f"""
import json, sys
try:
    {start}
except SystemExit:
    pass
print(json.dumps([module for module in {HEAVY!r} if module in sys.modules]))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout.splitlines()[-1]) == []
