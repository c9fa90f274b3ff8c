"""Metrics: one JSON object a line in `metrics.jsonl`, and the same numbers in the sinks that were asked for.

Rates are over the time since the last line, by a monotonic clock, without evaluation and saving. The length of the file
is part of a run's state: a resumed run cuts off what came after its state, so no step stands there twice.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from slmmodel.errors import MissingPackage, UnknownName


class Sink(Protocol):
    """Where numbers go besides the file."""

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        """Takes the numbers of a step."""

    def close(self) -> None:
        """Writes what is left."""


class TensorBoard:
    """Event files in `tensorboard/` of the run; `slmtok[track]` installs what writes them."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingPackage(
                "run.track tensorboard needs tensorboard, which is not installed", fix="pip install 'slmtok[track]'"
            ) from None
        self._writer: Any = SummaryWriter(str(folder / "tensorboard"))

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        """See `Sink`."""
        for name, number in numbers.items():
            self._writer.add_scalar(name, number, step)

    def close(self) -> None:
        """See `Sink`."""
        self._writer.close()


SINKS: dict[str, Callable[[Path], Sink]] = {"tensorboard": TensorBoard}


def sinks(names: tuple[str, ...], folder: Path) -> list[Sink]:
    """The sinks of these names. Raises `UnknownName`, `MissingPackage`."""
    for name in names:
        if name not in SINKS:
            raise UnknownName(
                f"run.track {name!r} does not exist",
                limit=f"one of {', '.join(SINKS)}",
                fix="--set run.track=tensorboard",
                option="run.track",
            )
    return [SINKS[name](folder) for name in names]


class Metrics:
    """The file of a run and its sinks. `length` bytes of it are kept; None where this rank writes nothing."""

    def __init__(self, path: Path | None, *, length: int = 0, sinks: list[Sink] | None = None) -> None:
        self._sinks = sinks or []
        self._file = None
        if path is not None:
            self._file = path.open("r+b" if path.exists() else "w+b")
            self._file.truncate(length)
            self._file.seek(length)

    def write(self, line: Mapping[str, Any]) -> None:
        """One line; numbers go to the sinks, too. What is no number is null."""
        plain = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in line.items()
        }
        if self._file is not None:
            self._file.write((json.dumps(plain, allow_nan=False) + "\n").encode())
        numbers = {
            key: float(value)
            for key, value in plain.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        for sink in self._sinks:
            sink.write(int(line["step"]), numbers)

    def sync(self) -> int:
        """Makes sure that the lines are on the disk; gives the length of the file."""
        if self._file is None:
            return 0
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Writes what is left."""
        if self._file is not None:
            self._file.close()
        for sink in self._sinks:
            sink.close()


class Clock:
    """Seconds of training since it was started, pauses left out."""

    def __init__(self, before: float = 0.0) -> None:
        self._before, self._since = before, time.perf_counter()
        self._pause: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds so far, those of earlier processes included."""
        until = time.perf_counter() if self._pause is None else self._pause
        return self._before + until - self._since

    def __enter__(self) -> Clock:
        """Stops counting."""
        self._pause = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        if self._pause is not None:
            self._since += time.perf_counter() - self._pause
        self._pause = None


class Rates:
    """What passed between two lines."""

    def __init__(self) -> None:
        self._seconds, self._tokens, self._bytes = 0.0, 0, 0

    def since(self, seconds: float, tokens: int, bytes_: int) -> tuple[float, float]:
        """Tokens and bytes a second since the last call."""
        passed = max(seconds - self._seconds, 1e-9)
        found = (tokens - self._tokens) / passed, (bytes_ - self._bytes) / passed
        self.start(seconds, tokens, bytes_)
        return found

    def start(self, seconds: float, tokens: int, bytes_: int) -> None:
        """Begins an interval here."""
        self._seconds, self._tokens, self._bytes = seconds, tokens, bytes_
