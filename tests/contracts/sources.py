"""The source files of the project and their syntax trees, for the contract tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("slmtok", "slmmodel")
# Folders without source files.
_SKIPPED = {"target", "__pycache__", "artifacts", "corpus_cache"}


def files(*folders: str, suffix: str) -> list[Path]:
    """All files with this suffix in some folders, sorted, without hidden and built ones."""
    return sorted(path for folder in folders for path in _walk(ROOT / folder) if path.name.endswith(suffix))


def _walk(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.name.startswith(".") or entry.name in _SKIPPED:
            continue
        if entry.is_dir():
            yield from _walk(entry)
        else:
            yield entry


def library() -> list[Path]:
    """The Python files of both packages."""
    return files(*PACKAGES, suffix=".py")


def tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file. Not cached: with all trees alive a full garbage collection takes a second."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name(path: Path) -> str:
    """The path from the project's root, with slashes."""
    return path.relative_to(ROOT).as_posix()


def imported(path: Path) -> set[str]:
    """Full names of the modules that a Python file imports, in functions too; `from a import b` gives `a` and `a.b`."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
