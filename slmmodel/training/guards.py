"""Guards around the loop: non-finite losses, loss spikes, and signals.

A step whose loss or gradient is not finite changes no weight; three in a row end the run. The state of `LossGuard` is
part of a checkpoint, so a resumed run decides as an uninterrupted one does.
"""

from __future__ import annotations

import math
import signal
import threading
from collections import deque
from collections.abc import Mapping
from types import FrameType
from typing import Any

MAX_CONSECUTIVE_SKIPS = 3
SPIKE_WINDOW = 200
SPIKE_SIGMAS = 6.0
MIN_SPIKE_LOSSES = 20
"""Losses in the window before spikes are detected."""
INTERRUPTED, TERMINATED = 130, 143
REASONS = {0: "finished", INTERRUPTED: "interrupted", TERMINATED: "terminated"}
"""Why a run ends, by exit status."""


class LossGuard:
    """Decides for each step whether it may change weights, and whether its loss is a spike."""

    def __init__(self) -> None:
        self.skipped = 0
        self.consecutive = 0
        self._losses: deque[float] = deque(maxlen=SPIKE_WINDOW)

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

    def is_spike(self, loss: float) -> bool:
        """Whether the loss exceeds the mean of the window by 6 standard deviations; adds it to the window."""
        spike = False
        if len(self._losses) >= MIN_SPIKE_LOSSES:
            mean = sum(self._losses) / len(self._losses)
            deviation = math.sqrt(sum((x - mean) ** 2 for x in self._losses) / len(self._losses))
            spike = loss > mean + SPIKE_SIGMAS * max(deviation, 1e-9)
        if math.isfinite(loss):
            self._losses.append(loss)
        return spike

    def state(self) -> dict[str, Any]:
        """The part of a checkpoint."""
        return {"skipped": self.skipped, "consecutive": self.consecutive, "losses": list(self._losses)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` gave."""
        self.skipped, self.consecutive = int(state["skipped"]), int(state["consecutive"])
        self._losses = deque(map(float, state["losses"]), maxlen=SPIKE_WINDOW)


class StopSignals:
    """SIGTERM and SIGINT end the run after the current step, SIGUSR1 saves a checkpoint; a second SIGINT ends at once.

    Handlers are installed in the main thread for the length of the block, and restored afterwards.
    """

    def __init__(self) -> None:
        self.code = 0
        """The exit status: 0, 130 or 143."""
        self.save = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGUSR1", None)):
                if number is not None:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            if self.code:
                raise KeyboardInterrupt
            self.code = INTERRUPTED
        elif number == signal.SIGTERM:
            self.code = TERMINATED
        else:
            self.save = True
