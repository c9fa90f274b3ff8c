"""Tasks that workers of a test cluster import: one that dies, two that fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from slmtok import errors


def dying(marker: str, number: int) -> Iterator[tuple[int, int]]:
    """Its worker is killed in its middle, the first time."""
    for step in range(3):
        if step == 1 and not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield (number, step)


def failing() -> Iterator[int]:
    """Ends in an error of ours."""
    yield 1
    raise errors.InvalidOption("no such thing", option="thing")


def broken() -> Iterator[int]:
    """Ends in an error of somebody else's."""
    yield 1
    raise KeyError("other")
