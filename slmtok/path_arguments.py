"""Paths among the arguments of a wrong call: which are texts, which is the output, and a name that no file has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path

Paths = Sequence[str | os.PathLike[str]]


def free_name(name: str) -> str:
    """A name like this one that no file has: `tok-2.json` beside `tok.json`."""
    path = Path(name)
    others = (str(path.with_name(f"{path.stem}-{number}{path.suffix}")) for number in count(2))
    return name if not path.exists() else next(other for other in others if not Path(other).exists())


def inputs_and_output(paths: Paths) -> tuple[str | list[str], str | None]:
    """The inputs among paths by position, one alone or a list, and the output; None where each may be an input.

    The output is the last path, where no file has its name: an input exists.
    """
    names = [os.fspath(path) for path in paths]
    output = names.pop() if len(names) > 1 and not _may_exist(names[-1]) else None
    return (names[0] if len(names) == 1 else names), output


def _may_exist(name: str) -> bool:
    """Whether a path exists, or names what is no file: a glob, or a data set of the Hub."""
    return os.path.exists(name) or name.startswith("hf:") or any(char in name for char in "*?[")  # noqa: PTH110
