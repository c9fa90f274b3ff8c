"""Checks that run when a library is about to be loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Finder:
    """Finds no module: checks before the others look for it."""

    def __init__(self) -> None:
        self.checks: dict[tuple[str, str], Callable[[], None]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        for (library, _), check in self.checks.items():
            if library == name:
                check()
        return None


_FINDER = _Finder()


def check_before_import(library: str, subject: str, check: Callable[[], None]) -> None:
    """From now on an import of a library raises what the check raises. A later check of a subject takes its place."""
    _FINDER.checks[library, subject] = check
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
