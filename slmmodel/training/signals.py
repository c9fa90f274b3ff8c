"""Signals: SIGTERM and SIGINT end a run after the step that is running, with its state saved; SIGUSR1 saves and goes
on.

A second SIGINT ends the process at once. Handlers are those of the main thread, and are put back afterwards; in another
thread nothing is handled.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

INTERRUPTED, TERMINATED = 130, 143


class Stop:
    """What was asked for while the block runs. `code` is 0, 130 or 143; `save` is set by SIGUSR1."""

    def __init__(self) -> None:
        self.code = 0
        self.save = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGUSR1", None)):
                if number is not None:
                    self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            if self.code:
                raise KeyboardInterrupt
            self.code = INTERRUPTED
        elif number == signal.SIGTERM:
            self.code = TERMINATED
        else:
            self.save = True
