"""Tasks that workers of a test cluster import: some are killed, some fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slmtok import errors
from slmtok.cluster import Partition
from slmtok.cluster.tasks import _count
from slmtok.shards.run import BatchEncoder


def dying(marker: str, number: int) -> Iterator[tuple[int, int]]:
    """A task whose worker is killed on its first run."""
    for step in range(3):
        if step == 1 and not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield (number, step)


def failing() -> Iterator[int]:
    """Raises a `SlmtokError`."""
    yield 1
    raise errors.OptionError("no such thing", option="thing")


def broken() -> Iterator[int]:
    """Raises another error."""
    yield 1
    raise KeyError("other")


def _die_once(marker: str) -> None:
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)


class DyingEncoder:
    """A `BatchEncoder` whose worker is killed with its second batch, the first time."""

    def __init__(self, encoder: BatchEncoder, marker: str) -> None:
        self._encoder, self._marker = encoder, marker

    def encode(self, *job: Any, **options: Any) -> Iterator[Any]:
        """See `BatchEncoder`."""
        for number, result in enumerate(self._encoder.encode(*job, **options)):
            if number == 1:
                _die_once(self._marker)
            yield result


def dying_count(partition: Partition, *job: Any) -> Iterator[Any]:
    """The counting task; that of the first partition is killed behind its counts file on its first run."""
    for result in _count(partition, *job):
        yield result
        if partition.first == 0 and isinstance(result, bytes):
            _die_once(str(Path(partition.sources[0]).parent / ".died"))
