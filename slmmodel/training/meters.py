"""What a run tells while it runs: lines of metrics, and the text beside the progress bar."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from slmmodel.sizes import format_bytes, format_count, format_time
from slmmodel.training.metrics import Clock, Metrics, Rates
from slmmodel.training.state import Progress
from slmmodel.training.stepper import Stepped
from slmmodel.training.validate import Validation

SHOW_EVERY = 0.2
PEAK_FLOPS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "RTX 4090": 165e12, "L4": 121e12}
"""Dense bf16 operations a second, from the makers' data sheets; model FLOPs utilization is told for these."""


class Meters:
    """Turns steps into lines and text."""

    def __init__(
        self,
        metrics: Metrics,
        progress: Progress,
        flops_per_token: float,
        device: torch.device,
        report: Callable[[str, int, int, str], None] | None,
    ) -> None:
        self.metrics, self._progress, self._report = metrics, progress, report
        self.clock = Clock(progress.counters.seconds)
        self._flops, self._device = flops_per_token, device
        self._peak = _peak(device)
        self._rates, self._shown = Rates(), Rates()
        for rates in (self._rates, self._shown):
            rates.start(self.clock.seconds, progress.counters.tokens, progress.counters.bytes)
        self._told = time.perf_counter() - SHOW_EVERY
        self._first = (self.clock.seconds, progress.counters.step)

    def line(
        self,
        done: Stepped,
        lr: float,
        validation: Validation | None,
        skipped: int,
        spike: bool,
        rows: NDArray[np.int64],
    ) -> None:
        """A line of metrics for the step that was counted last."""
        counters = self._progress.counters
        tokens, bytes_ = self._rates.since(counters.seconds, counters.tokens, counters.bytes)
        line: dict[str, Any] = {
            "step": counters.step,
            "tokens": counters.tokens,
            "targets": counters.targets,
            "bytes": counters.bytes,
            "epoch": self._progress.cursor.epoch,
            "loss": done.loss,
            "bpb_train": done.nats / (math.log(2) * done.bytes) if done.bytes else None,
            "lr": lr,
            "grad_norm": done.norm,
            "tokens_per_s": round(tokens, 1),
            "bytes_per_s": round(bytes_, 1),
            "mfu": round(tokens * self._flops / self._peak, 4) if self._peak else None,
            "memory": _memory(self._device),
            "seconds": round(counters.seconds, 4),
            "skipped": skipped,
        }
        if spike:
            line["spike"] = True
        if not done.ok:
            line["rows"] = rows.tolist()
        if validation is not None:
            line |= {"val_loss": validation.loss, "val_bpb": validation.bpb, "val_targets": validation.targets}
        self.metrics.write(line)
        self.show(done, validation)

    def show(self, done: Stepped, validation: Validation | None) -> None:
        """The text beside the bar, not more than a few times a second."""
        now = time.perf_counter()
        if self._report is None or (now - self._told < SHOW_EVERY and validation is None):
            return
        self._told = now
        counters = self._progress.counters
        tokens, bytes_ = self._shown.since(self.clock.seconds, counters.tokens, counters.bytes)
        seconds, steps = self.clock.seconds - self._first[0], counters.step - self._first[1]
        left = seconds / max(steps, 1) * (self._progress.steps - counters.step)
        bpb = f"{done.nats / (math.log(2) * done.bytes):.3f} bpb, " if done.bytes else ""
        held = f", val {validation.bpb:.3f} bpb" if validation is not None else ""
        speed = f"{format_count(tokens)} tokens/s, {format_bytes(bytes_)}/s"
        text = f"loss {done.loss:.3f}, {bpb}{speed}, {format_time(left)} left{held}"
        self._report("training", counters.step, self._progress.steps, text)


def _peak(device: torch.device) -> float | None:
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((flops for known, flops in PEAK_FLOPS.items() if known in name), None)


def _memory(device: torch.device) -> int:
    """Bytes: the most that was allocated on the GPU, else the most that the process has held."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
