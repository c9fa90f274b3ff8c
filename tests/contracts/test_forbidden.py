"""The packages never run data as code or name the folders of one machine; the core uses neither Python nor a terminal.

import-linter forbids pickle and the network, ruff forbids `print` outside the commands.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from sources import ROOT, files, library, name, tree

NEVER_CALLED = {"eval", "exec", "compile", "__import__", "breakpoint"}
# A file without one of these words, other than as an attribute, calls none of them and need not be parsed.
_WORD = re.compile(rf"(?<![\w.])(?:{'|'.join(sorted(NEVER_CALLED))})\b")
# Folders of one machine: a file that names one works only there.
MACHINE = re.compile(r"(?<![\w/.])/(?:home|root|Users|work|mnt)/\w+")
TEXT = (".py", ".pyi", ".rs", ".toml", ".md", ".txt", ".sh", ".yaml", ".tsv")


def test_nothing_runs_data_as_code() -> None:
    calls = [
        f"{name(path)}:{node.lineno} {node.func.id}"
        for path in library()
        if _WORD.search(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NEVER_CALLED
    ]
    assert calls == []


def test_no_file_names_a_folder_of_one_machine() -> None:
    folders = ("slmtok", "slmmodel", "rust", "tests", "docs", "benchmarks", "examples")
    sources = [path for suffix in TEXT for path in files(*folders, suffix=suffix)]
    sources += [path for path in ROOT.iterdir() if path.is_file() and path.suffix in (".md", ".toml", "")]
    found = [
        f"{name(path)}:{number}: {line.strip()}"
        for path in sources
        if path.name != ".git"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if MACHINE.search(line)
    ]
    assert found == []


def test_only_the_bridge_releases_the_gil() -> None:
    sources = files("rust/slmtok-py/src", suffix=".rs")
    releasing = [
        name(path) for path in sources if re.search(r"\b(?:allow_threads|detach)\(", path.read_text(encoding="utf-8"))
    ]
    assert releasing == ["rust/slmtok-py/src/bridge.rs"]


@pytest.mark.parametrize(
    ("unsafe", "where"),
    [
        # Python may end the thread in these calls, which must not unwind Rust.
        (r"\.call[01]?\(|\bPython::\w*attach\(", ["rust/slmtok-py/src/python_code.rs"]),
        # It reads an array that is not aligned at wrong addresses.
        (r"\.as_array\(", []),
    ],
)
def test_calls_that_are_sound_in_one_file_only(unsafe: str, where: list[str]) -> None:
    sources = files("rust/slmtok-py/src", suffix=".rs")
    assert [name(path) for path in sources if re.search(unsafe, path.read_text(encoding="utf-8"))] == where


def _without_tests(path: Path) -> list[str]:
    """The lines of a Rust file above its test module, which is the last item, or what only test builds have."""
    last = '#[cfg(feature = "testing")]' if path.name == "simd_limit.rs" else "#[cfg(test)]"
    return path.read_text(encoding="utf-8").split(last)[0].splitlines()


def test_the_core_uses_no_python_and_no_terminal() -> None:
    forbidden = re.compile(r"\b(?:pyo3|numpy)\b|\be?print(?:ln)?!|\bdbg!|std::env|\benv::var")
    found = [
        f"{name(path)}:{number}: {line.strip()}"
        for path in files("rust/slmtok-core/src", suffix=".rs")
        for number, line in enumerate(_without_tests(path), 1)
        if forbidden.search(line.split("//")[0])
    ]
    assert found == []


def test_links_are_resolved_in_one_place() -> None:
    """`Path.resolve` of Python before 3.13 raises `RuntimeError` for links that lead back to themselves."""
    call = re.compile(r"\.resolve\(")
    found = [
        f"{name(path)}:{number}: {line.strip()}"
        for path in library()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        # The template of a script that an export writes.
        if call.search(line) and not line.startswith("FOLDER = Path(__file__)")
    ]
    assert found == []
