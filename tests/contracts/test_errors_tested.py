"""Each error class is raised by some test: it stands in `pytest.raises`, or a test expects it by name in an output.

Tests are read, not run: a class is named inside a call of `raises`, in the arguments of `parametrize`, or as the string
that `--json` prints. An error that nobody has seen is a sentence that nobody has read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from sources import files, tree

from slmtok.errors import ERRORS

# What no test can bring about, with the reason.
UNTESTED = {
    "CorpusTooLarge": "needs four gigabytes of distinct pieces",
}


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _expected(path: Path) -> set[str]:
    """Names within `raises(…)` and `parametrize(…)`, and both sides of a comparison, in one test file."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if (isinstance(node, ast.Call) and _called(node) in ("raises", "parametrize", "isinstance")) or isinstance(
            node, ast.Compare
        ):
            found |= set(_names(node))
        elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id.isupper() for t in node.targets):
            # A table of cases, for `parametrize` to walk through.
            found |= set(_names(node.value))
    return found


def test_every_error_is_raised_by_a_test() -> None:
    sources = [path for path in files("tests", suffix=".py") if "contracts" not in path.parts]
    seen: set[str] = set().union(*map(_expected, sources))
    untested = {error.__name__ for error in ERRORS} - seen
    assert untested == set(UNTESTED)
