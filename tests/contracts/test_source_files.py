"""Source files open with their purpose. Files have up to 800 lines, functions up to 60, Rust kernels up to 90.

Exceptions are listed here with their reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sources import PACKAGES, ROOT, files, library, name, tree

FILE_LINES = 800
FUNCTION_LINES = 60
KERNEL_LINES = 90
KERNELS = ("rust/slmtok-core/src/pretoken/", "rust/slmtok-core/src/merge/", "rust/slmtok-core/src/cache/")
"""Folders of kernels: loops over bytes that read best as one function."""

PYTHON = files("slmtok", "slmmodel", "tests", "benchmarks", "examples", suffix=".py")
RUST = files("rust", suffix=".rs")

LARGE_FILES: dict[str, str] = {}

IN_BOTH_PACKAGES = ("absent_names.py", "callbacks.py", "indexing.py", "placeholders.py", "system_memory.py")
"""Files that slmtok and slmmodel both hold, since neither imports the other."""

FUNCTIONS_IN_BOTH_PACKAGES = {"calls.py": ("help_call",)}
"""By file: functions that both packages hold, each with an example of its own package."""

LARGE_FUNCTIONS = {
    "rust/slmtok-py/src/bridge.rs::describe": "one exhaustive match: a new error compiles only with a line here",
}

_RUST_FN = re.compile(r"^(\s*)(?:pub(?:\([a-z]+\))? )?(?:const )?(?:unsafe )?fn (\w+)")


@cache
def _python(path: Path) -> tuple[bool, list[tuple[str, int]]]:
    """Whether a file has a docstring, and the lines of its functions: each file is parsed once."""
    module = tree(path)
    functions = [
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(module)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return ast.get_docstring(module) is not None, functions


def _rust_functions(path: Path) -> Iterator[tuple[str, int]]:
    """rustfmt closes a function at the indentation of its `fn`."""
    opened: tuple[str, str, int] | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        start = _RUST_FN.match(line)
        if opened is None and start and not line.rstrip().endswith((";", "}")):
            opened = start.group(1), start.group(2), number
        elif opened is not None and line == opened[0] + "}":
            yield opened[1], number - opened[2] + 1
            opened = None
        elif opened is not None and line.startswith(opened[0]) and line.rstrip().endswith(";") and number == opened[2]:
            opened = None


def _large_files() -> dict[str, int]:
    lines = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in PYTHON + RUST}
    return {path: length for path, length in lines.items() if length > FILE_LINES}


def _large_functions() -> dict[str, int]:
    found: dict[str, int] = {}
    for path in PYTHON + RUST:
        functions = _rust_functions(path) if path.suffix == ".rs" else _python(path)[1]
        limit = KERNEL_LINES if name(path).startswith(KERNELS) else FUNCTION_LINES
        found |= {f"{name(path)}::{function}": lines for function, lines in functions if lines > limit}
    return found


def test_files_are_small() -> None:
    large = _large_files()
    assert {path: length for path, length in large.items() if path not in LARGE_FILES} == {}
    assert sorted(set(LARGE_FILES) - set(large)) == [], "no longer large: remove them from the list"


def test_functions_are_small() -> None:
    large = _large_functions()
    assert {path: length for path, length in large.items() if path not in LARGE_FUNCTIONS} == {}
    assert sorted(set(LARGE_FUNCTIONS) - set(large)) == [], "no longer large: remove them from the list"


def test_python_files_open_with_a_docstring() -> None:
    """Empty files are allowed in tests alone."""
    assert [name(path) for path in PYTHON if path.stat().st_size and not _python(path)[0]] == []
    assert [name(path) for path in library() if not path.stat().st_size] == []


def test_rust_files_open_with_a_doc_comment() -> None:
    openings = ("//! ", "// @generated", "//! @generated")
    assert [name(path) for path in RUST if not path.read_text(encoding="utf-8").startswith(openings)] == []


def _below_imports(path: Path) -> list[str]:
    """The lines of a Python file below its docstring and imports."""
    imports = [node for node in tree(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return path.read_text(encoding="utf-8").splitlines()[imports[-1].end_lineno :]


def test_files_in_both_packages_are_the_same() -> None:
    for file in IN_BOTH_PACKAGES:
        first, second = (_below_imports(ROOT / package / file) for package in PACKAGES)
        assert len(first) > 10 and first == second, f"change {file} of slmtok and of slmmodel alike"


def test_functions_of_both_packages_are_the_same() -> None:
    for file, functions in FUNCTIONS_IN_BOTH_PACKAGES.items():
        for function in functions:
            # Without the docstring, whose example differs.
            first, second = (_statements(ROOT / package / file, function)[1:] for package in PACKAGES)
            assert first and first == second, f"change {function} of slmtok and of slmmodel alike"


def _statements(path: Path, function: str) -> list[str]:
    found = [node for node in tree(path).body if isinstance(node, ast.FunctionDef) and node.name == function]
    assert len(found) == 1
    return [ast.dump(statement) for statement in found[0].body]
