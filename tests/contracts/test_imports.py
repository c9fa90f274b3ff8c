"""Imports: the layers of pyproject.toml, no cycles, one file for the compiled module, one for torch, a light start."""

from __future__ import annotations

import json
import subprocess
import sys
from graphlib import TopologicalSorter

import grimp
import pytest
from sources import PACKAGES, ROOT, files, imported, name

HEAVY = ("numpy", "rich", "pydantic", "yaml", "regex", "tiktoken", "torch")


def test_import_linter_contracts_hold() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_modules_have_no_import_cycles() -> None:
    """Imports within functions count; imports for type checkers alone do not."""
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # Raises CycleError, whose message lists the modules of a cycle.
    TopologicalSorter(imports).prepare()


def _importers(module: str, *folders: str) -> list[str]:
    """The files in some folders that import a module or one of its parts, within functions too."""
    last = module.rpartition(".")[2]
    sources = [path for path in files(*folders, suffix=".py") if last in path.read_text(encoding="utf-8")]
    return [name(path) for path in sources if any(f"{found}.".startswith(f"{module}.") for found in imported(path))]


def test_one_file_imports_the_compiled_module_and_one_of_slmtok_torch() -> None:
    assert _importers("slmtok._native", *PACKAGES) == ["slmtok/_engine.py"]
    assert _importers("torch", "slmtok") == ["slmtok/_torch.py"]


def test_only_the_application_of_slmmodel_imports_slmtok() -> None:
    """As the contract of package isolation, without its list of modules; layers forbid indirect imports."""
    assert [
        path
        for path in _importers("slmtok", "slmmodel")
        if not path.startswith(("slmmodel/cli/", "slmmodel/app.py", "slmmodel/__main__.py"))
    ] == []


@pytest.mark.parametrize(
    "start",
    [
        "import slmtok",
        "import slmmodel",
        "from slmtok.cli import main; main(['--help'])",
        "from slmmodel.cli import main; main(['--help'])",
    ],
)
def test_start_up_imports_no_heavy_module(start: str) -> None:
    # `main` may raise SystemExit; the imports until then count.
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
