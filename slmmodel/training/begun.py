"""The runs that this process began: training into one of them again is the next round of a loop in Python."""

from __future__ import annotations

import os
from pathlib import Path

from slmmodel.errors import OfCommand

_PATHS: set[str] = set()


def add(path: Path) -> None:
    """Records that this process begins a run at a path."""
    _PATHS.add(os.path.realpath(path))


def of_loop(path: Path) -> tuple[str, ...]:
    """The end of a fix for a finished run that this process began: an output that differs in each round."""
    name = f"{path}-".replace("{", "{{").replace("}", "}}") + "{i}"
    in_python = f"; in a loop, output=f{name!r}, where i is its variable"
    return (OfCommand("", in_python),) if os.path.realpath(path) in _PATHS else ()
