"""Guards around the loop: non-finite losses, loss spikes, and signals.

A step whose loss or gradient is not finite changes no weight; three in a row end the run. The state of `LossGuard` is
part of a checkpoint, so a resumed run decides as an uninterrupted one does.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

MAX_CONSECUTIVE_SKIPS = 3
SPIKE_WINDOW = 200
SPIKE_SIGMAS = 6.0
MIN_SPIKE_LOSSES = 20
"""Losses in the window before spikes are detected."""
INTERRUPTED, TERMINATED = 130, 143
REASONS = {0: "finished", INTERRUPTED: "interrupted", TERMINATED: "terminated"}
"""Why a run ends, by exit status."""


@dataclass
class LossGuard:
    """Decides for each step whether it may change weights, and whether its loss is a spike."""

    skipped: int = 0
    consecutive: int = 0
    losses: list[float] = field(default_factory=list)
    """The last finite ones, at most `SPIKE_WINDOW`."""

    def check(self, loss: float, norm: float) -> bool:
        """Whether loss and gradient norm are finite; counts steps where they are not."""
        finite = math.isfinite(loss) and math.isfinite(norm)
        self.consecutive = 0 if finite else self.consecutive + 1
        self.skipped += not finite
        return finite

    @property
    def should_abort(self) -> bool:
        """Whether too many steps in a row were skipped."""
        return self.consecutive >= MAX_CONSECUTIVE_SKIPS

    def record(self, loss: float) -> bool:
        """Adds a loss to the window; True for a spike: more than 6 standard deviations above the window's mean."""
        losses, spike = self.losses, False
        if len(losses) >= MIN_SPIKE_LOSSES:
            mean = sum(losses) / len(losses)
            deviation = math.sqrt(sum((x - mean) ** 2 for x in losses) / len(losses))
            spike = loss > mean + SPIKE_SIGMAS * max(deviation, 1e-9)
        if math.isfinite(loss):
            self.losses = [*losses, loss][-SPIKE_WINDOW:]
        return spike


class StopSignals:
    """What signals asked for: SIGTERM and SIGINT end the run after the current step, SIGUSR1 saves a checkpoint.

    A second SIGINT ends the process at once.
    """

    code = 0
    """The exit status: 0, 130 or 143."""
    save = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR1:
            self.save = True
        elif number == signal.SIGTERM:
            self.code = TERMINATED
        elif self.code:
            raise KeyboardInterrupt
        else:
            self.code = INTERRUPTED

    @classmethod
    @contextmanager
    def handled(cls) -> Iterator[StopSignals]:
        """Handlers for the length of the block, restored afterwards; only the main thread can install them."""
        signals, before = cls(), {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
                before[number] = signal.signal(number, signals._handle)
        try:
            yield signals
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
