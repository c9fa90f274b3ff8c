"""Tasks that workers of a test cluster import: some die, some fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slmtok import errors
from slmtok.cluster.counting import _count
from slmtok.cluster.partition import Partition
from slmtok.shards.encoding import Encode


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


def _die_once(marker: str) -> None:
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)


class DyingEncode:
    """An `Encode` whose worker is killed with its second unit, the first time."""

    def __init__(self, encode: Encode, marker: str) -> None:
        self._encode, self._marker, self._units = encode, marker, 0

    def __call__(self, documents: Any) -> Any:
        """What `Encode` gives."""
        self._units += 1
        if self._units == 2:
            _die_once(self._marker)
        return self._encode(documents)


def dying_count(partition: Partition, *job: Any) -> Iterator[Any]:
    """The task of counting; that of the first partition is killed behind its counts file, the first time."""
    for result in _count(partition, *job):
        yield result
        if partition.first == 0 and isinstance(result, bytes):
            _die_once(str(Path(partition.sources[0]).parent / ".died"))
