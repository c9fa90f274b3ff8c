"""Metrics: one JSON object a line in `metrics.jsonl`, the same numbers in optional sinks, and the progress text.

Rates cover the time since the last line on a monotonic clock, without validation and saving. A checkpoint records the
length of the file; a resumed run truncates it to that length, so no step appears twice.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch

from slmmodel.errors import MissingPackage, UnknownName
from slmmodel.sizes import format_bytes, format_count, format_time
from slmmodel.training.loss import Validation
from slmmodel.training.state import TrainState
from slmmodel.training.step import StepResult

Report = Callable[[str, int, int, str], None]
"""Progress: (stage, done, total, text)."""
REPORT_INTERVAL_SECONDS = 0.2
PEAK_FLOPS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "RTX 4090": 165e12, "L4": 121e12}
"""Dense bf16 operations per second from the data sheets; model FLOPs utilisation is reported for these devices."""


class Sink(Protocol):
    """A destination of metrics besides the file."""

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        """Logs the numbers of a step."""

    def close(self) -> None:
        """Flushes."""


class TensorBoard:
    """Event files in `tensorboard/` of the run; `slmtok[track]` installs the writer."""

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


def open_sinks(names: tuple[str, ...], folder: Path) -> list[Sink]:
    """The sinks of these names. Raises `UnknownName`, `MissingPackage`."""
    for name in names:
        if name not in SINKS:
            raise UnknownName(
                f"unknown sink {name!r} in run.track",
                limit=f"one of {', '.join(SINKS)}",
                fix="--set run.track=tensorboard",
                option="run.track",
            )
    return [SINKS[name](folder) for name in names]


class MetricsFile:
    """`metrics.jsonl`, cut to `length` bytes, and sinks; with `path` None (ranks other than 0) it writes nothing."""

    def __init__(self, path: Path | None, *, length: int = 0, sinks: list[Sink] | None = None) -> None:
        self._sinks = sinks or []
        self._file = None
        if path is not None:
            self._file = path.open("r+b" if path.exists() else "w+b")
            self._file.truncate(length)
            self._file.seek(length)

    def write(self, line: Mapping[str, Any]) -> None:
        """One line. Numbers that are not finite become null."""
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
        """Syncs the file; gives its length in bytes."""
        if self._file is None:
            return 0
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Closes file and sinks."""
        if self._file is not None:
            self._file.close()
        for sink in self._sinks:
            sink.close()


class TrainingClock:
    """Seconds of training, earlier processes included. A `with` block is a pause."""

    def __init__(self, before: float = 0.0) -> None:
        self._before, self._start = before, time.perf_counter()
        self._paused: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        now = time.perf_counter() if self._paused is None else self._paused
        return self._before + now - self._start

    def __enter__(self) -> TrainingClock:
        self._paused = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        if self._paused is not None:
            self._start += time.perf_counter() - self._paused
        self._paused = None


class Rates:
    """Tokens and bytes per second since the last call."""

    def __init__(self, seconds: float, tokens: int, n_bytes: int) -> None:
        self._last = seconds, tokens, n_bytes

    def since_last(self, seconds: float, tokens: int, n_bytes: int) -> tuple[float, float]:
        """The rates, and the start of a new interval."""
        before, self._last = self._last, (seconds, tokens, n_bytes)
        passed = max(seconds - before[0], 1e-9)
        return (tokens - before[1]) / passed, (n_bytes - before[2]) / passed


class Monitor:
    """Turns steps into lines of metrics and progress reports."""

    def __init__(
        self,
        metrics: MetricsFile,
        state: TrainState,
        flops_per_token: float,
        device: torch.device,
        report: Report | None,
    ) -> None:
        self.metrics, self._state, self._report, self._device = metrics, state, report, device
        counters = state.counters
        self.clock = TrainingClock(counters.seconds)
        self._flops_per_token, self._peak = flops_per_token, _peak_flops(device)
        self._line_rates = Rates(counters.seconds, counters.tokens, counters.bytes)
        self._report_rates = Rates(counters.seconds, counters.tokens, counters.bytes)
        self._reported = time.perf_counter() - REPORT_INTERVAL_SECONDS
        self._first = (self.clock.seconds, counters.step)

    def line(self, result: StepResult, validation: Validation | None, **more: Any) -> None:
        """Writes the line of the step that was counted last; `more` are further fields."""
        counters = self._state.counters
        tokens, n_bytes = self._line_rates.since_last(counters.seconds, counters.tokens, counters.bytes)
        line: dict[str, Any] = {
            "step": counters.step,
            "tokens": counters.tokens,
            "targets": counters.targets,
            "bytes": counters.bytes,
            "epoch": self._state.cursor.epoch,
            "loss": result.loss,
            "bpb_train": result.nats / (math.log(2) * result.bytes) if result.bytes else None,
            "grad_norm": result.norm,
            "tokens_per_s": round(tokens, 1),
            "bytes_per_s": round(n_bytes, 1),
            "mfu": round(tokens * self._flops_per_token / self._peak, 4) if self._peak else None,
            "memory": _peak_memory(self._device),
            "seconds": round(counters.seconds, 4),
            **more,
        }
        if validation is not None:
            line |= {"val_loss": validation.loss, "val_bpb": validation.bpb, "val_targets": validation.targets}
        self.metrics.write(line)
        self.report(result, validation)

    def report(self, result: StepResult, validation: Validation | None) -> None:
        """Reports progress, at most every 0.2 s unless there is a validation."""
        now = time.perf_counter()
        if self._report is None or (now - self._reported < REPORT_INTERVAL_SECONDS and validation is None):
            return
        self._reported = now
        counters, steps = self._state.counters, self._state.steps
        tokens, n_bytes = self._report_rates.since_last(self.clock.seconds, counters.tokens, counters.bytes)
        per_step = (self.clock.seconds - self._first[0]) / max(counters.step - self._first[1], 1)
        parts = [
            f"loss {result.loss:.3f}",
            *([f"{result.nats / (math.log(2) * result.bytes):.3f} bpb"] if result.bytes else []),
            f"{format_count(tokens)} tokens/s",
            f"{format_bytes(n_bytes)}/s",
            f"{format_time(per_step * (steps - counters.step))} left",
            *([f"val {validation.bpb:.3f} bpb"] if validation is not None else []),
        ]
        self._report("training", counters.step, steps, ", ".join(parts))


def _peak_flops(device: torch.device) -> float | None:
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((flops for known, flops in PEAK_FLOPS.items() if known in name), None)


def _peak_memory(device: torch.device) -> int:
    """Bytes: the peak of GPU allocations, else the peak resident size of the process."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
