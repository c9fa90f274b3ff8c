"""Each source file says at its top what it is for."""

from __future__ import annotations

import ast

from sources import files, name, tree


def test_python_files_open_with_a_docstring() -> None:
    sources = files("slmtok", "slmmodel", "tests", "benchmarks", "examples", suffix=".py")
    silent = [name(path) for path in sources if path.stat().st_size and not ast.get_docstring(tree(path))]
    assert silent == []
    empty = [name(path) for path in files("slmtok", "slmmodel", suffix=".py") if not path.stat().st_size]
    assert empty == []


def test_rust_files_open_with_their_purpose() -> None:
    silent = [
        name(path)
        for path in files("rust", suffix=".rs")
        if not path.read_text(encoding="utf-8").startswith(("//! ", "// @generated", "//! @generated"))
    ]
    assert silent == []
