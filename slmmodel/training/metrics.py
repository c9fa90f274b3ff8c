"""Metrics: one JSON object a line in `metrics.jsonl`, the same numbers in trackers, and the progress text.

Speeds in a line cover the time since the last line, without validation and saving. A checkpoint records the length of
the file; a resumed run truncates it to that length, so no step appears twice. The file is extended in
place, so no other hard link of it may exist; files that are replaced by renaming leave links alone.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import torch

from slmmodel.data import Cursor
from slmmodel.errors import Unreadable
from slmmodel.files import open_file, read_file, translated_errors, write_file
from slmmodel.folder_lock import FolderHandle, check_in_place, check_regular
from slmmodel.gpus import ACCELERATORS
from slmmodel.run_entries import BAD
from slmmodel.run_files import SAVED, VALIDATING, VALIDATION, Counters, TrainState, Validation
from slmmodel.sizes import format_bytes, format_clock, format_count
from slmmodel.training.running_clock import RunningClock
from slmmodel.training.step import StepResult
from slmmodel.training.trackers import Tracker, tagged

Report = Callable[[str, int, int, str], None]
"""Progress: (phase, done, total, text). The phases `VALIDATION` and `SAVED` are events, their text is the result; while
`VALIDATING` goes on, `done` stays the step."""


def restore_lines(path: Path, length: int, handle: FolderHandle | None) -> tuple[int, str]:
    """(length, text): `length`, at which a checkpoint left the file, or that of the lines which are left of it.

    A file that was cut or changed since then is written again with its whole lines; the text says so, else it is empty.
    """
    check_regular(path)
    with translated_errors(path):
        data = read_file(path, length) if path.exists() else b""
    lines = data.splitlines(keepends=True)
    whole = [line for line in lines if line.endswith(b"\n") and _is_object(line)]
    if len(data) == length and len(whole) == len(lines):
        return length, ""
    kept = b"".join(whole)
    write_file(path, kept, handle)
    return len(kept), f"; {path.name} was changed since the checkpoint, and {len(whole)} whole lines are left of it"


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


class MetricsFile:
    """`metrics.jsonl`, cut to `length` bytes, and trackers; with `path` None it writes nothing.

    `handle`: the folder of the run, open.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        length: int = 0,
        trackers: Sequence[Tracker] = (),
        handle: FolderHandle | None = None,
    ) -> None:
        self._trackers, self._handle = trackers, handle
        self._file: IO[Any] | None = None
        if path is not None:
            self._path = path
            self._open(length)

    def _open(self, length: int) -> None:
        """Opens the file, cut to `length` bytes.

        One with another hard link (`cp -al`, a backup) is first replaced by a copy, so that the other name keeps its
        content.
        """
        check_regular(self._path)
        with translated_errors(self._path):
            if self._path.exists() and self._path.stat().st_nlink > 1:
                write_file(self._path, read_file(self._path, length), self._handle)
            self._file = open_file(self._path, "r+b" if self._path.exists() else "w+b", self._handle)
            self._file.truncate(length)
            self._file.seek(length)

    def _is_in_place(self) -> bool:
        return os.path.lexists(self._path) and os.path.samestat(self._path.lstat(), self._status())

    def _status(self) -> os.stat_result:
        assert self._file is not None
        return os.fstat(self._file.fileno())

    def write(self, line: Mapping[str, Any]) -> None:
        """One line. Numbers that are not finite become null."""
        finite = {key: _finite(value) for key, value in line.items()}
        if self._file is not None:
            with translated_errors(self._path):
                if self._status().st_nlink > 1 and self._is_in_place():
                    # Linked since it was opened.
                    length = self._file.tell()
                    self._file.close()
                    self._open(length)
                self._file.write((json.dumps(finite, allow_nan=False) + "\n").encode())
                # `slm plot` and `slm status` read the file of a run that is training.
                self._file.flush()
        values = tagged(scalars(finite)) if self._trackers else {}
        for tracker in self._trackers:
            tracker.log(line["step"], values)

    def sync(self) -> int:
        """Syncs the file; gives its length in bytes.

        Raises `Unreadable` where the file was removed or replaced: the open one would be lost, with all later lines.
        """
        if self._file is None:
            return 0
        check_in_place(self._handle)
        if not self._is_in_place():
            raise Unreadable(
                f"{self._path.name} was removed or replaced while the run trains",
                where=str(self._path),
                fix="slm resume continues from the last checkpoint; edit the file while no process trains the run",
            )
        with translated_errors(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Closes file and trackers."""
        if self._file is not None:
            with translated_errors(self._path):
                self._file.close()
        for tracker in self._trackers:
            tracker.close()


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def scalars(line: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a line for trackers; of a list by layer, the mean of each layer as `NAME/layer_I`."""
    found: dict[str, float] = {}
    for name, value in line.items():
        if isinstance(value, list):
            layers = [layer if isinstance(layer, list) else [layer] for layer in value]
            means = [[item for item in layer if isinstance(item, float)] for layer in layers]
            found |= {f"{name}/layer_{i}": sum(layer) / len(layer) for i, layer in enumerate(means) if layer}
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = value
    return found


class Monitor:
    """Measures the time of training, and turns steps into lines of metrics and progress reports."""

    def __init__(
        self,
        metrics: MetricsFile,
        state: TrainState,
        flops_per_token: float,
        device: torch.device,
        report: Report | None,
        waited: float = 0.0,
    ) -> None:
        """`waited`: as in `line`, when the training begins."""
        self.metrics, self._state, self._device = metrics, state, device
        self._report = report or (lambda phase, done, total, text: None)
        self._flops_per_token, self._peak = flops_per_token, _peak_flops(device)
        self.clock = RunningClock()
        self._start = self.clock.seconds - state.counters.seconds
        self._first = self._last = state.counters.model_copy()
        self._last_waited = waited

    @property
    def seconds(self) -> float:
        """Seconds of training, earlier processes included, pauses and stops of the process not."""
        return self.clock.seconds - self._start

    @contextmanager
    def pause(self) -> Iterator[None]:
        """A block whose time does not count as training."""
        start = self.clock.seconds
        yield
        self._start += self.clock.seconds - start

    def close(self) -> None:
        """Ends the clock, and closes file and trackers."""
        self.clock.close()
        self.metrics.close()

    def _speed(self, since: Counters) -> tuple[float, float]:
        """Tokens and bytes per second of training."""
        counters = self._state.counters
        seconds = max(counters.seconds - since.seconds, 1e-9)
        return (counters.tokens - since.tokens) / seconds, (counters.bytes - since.bytes) / seconds

    def line(self, result: StepResult, validation: Validation | None, waited: float = 0.0, **more: Any) -> None:
        """Writes the line of the step that was counted last; `more` are further fields.

        `waited`: seconds that this process has waited for data in all.
        """
        counters = self._state.counters
        tokens, n_bytes = self._speed(self._last)
        data_wait = (waited - self._last_waited) / max(counters.seconds - self._last.seconds, 1e-9)
        self._last, self._last_waited = counters.model_copy(), waited
        line: dict[str, Any] = {
            "step": counters.step,
            "tokens": counters.tokens,
            "targets": counters.targets,
            "bytes": counters.bytes,
            "epoch": Cursor(*self._state.cursor).epoch,
            "loss": result.loss,
            "bpb_train": result.bpb,
            "grad_norm": result.grad_norm,
            "tokens_per_s": round(tokens, 1),
            "bytes_per_s": round(n_bytes, 1),
            "data_wait": round(min(data_wait, 1.0), 4),
            "mfu": round(tokens * self._flops_per_token / self._peak, 4) if self._peak else None,
            "memory": _peak_memory(self._device),
            "seconds": round(counters.seconds, 4),
            **more,
        }
        if validation is not None:
            line |= {"val_loss": validation.loss, "val_bpb": validation.bpb, "val_targets": validation.targets}
        self.metrics.write(line)

    def report(self, result: StepResult, validation: Validation | None) -> None:
        """Reports progress, with the mean speed of this process."""
        counters, steps = self._state.counters, self._state.steps
        tokens, n_bytes = self._speed(self._first)
        per_step = (counters.seconds - self._first.seconds) / max(counters.step - self._first.step, 1)
        parts = [
            f"loss {result.loss:.3f}",
            f"{format_count(tokens)} tokens/s",
            f"{format_clock(per_step * (steps - counters.step))} left",
            *([] if result.bpb is None else [f"{result.bpb:.3f} bpb"]),
            f"{format_bytes(n_bytes)}/s",
        ]
        if validation is not None:
            found = f"{validation.bpb:.4f} bits per byte, {validation.loss:.4f} nats per id"
            self._report(VALIDATION, counters.step, steps, found)
        self._report("training", counters.step, steps, ", ".join(parts))

    def report_validation(self, targets: int) -> None:
        """Reports that a validation goes on, and how many targets it has scored."""
        text = f"{format_count(targets)} ids scored"
        self._report(VALIDATING, self._state.counters.step, self._state.steps, text)

    def saved(self, folder: Path) -> None:
        """Reports a checkpoint, with its own step."""
        step = folder.name.removeprefix("step-").removesuffix(BAD)
        self._report(SAVED, int(step), self._state.steps, str(folder))


def _peak_flops(device: torch.device) -> float | None:
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((each.flops for each in ACCELERATORS.values() if each.name in name), None)


def _peak_memory(device: torch.device) -> int | None:
    """Bytes: the peak of GPU allocations, else the peak resident size of the process; None on Windows."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
