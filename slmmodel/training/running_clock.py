"""`RunningClock`: a clock that stands still while the process is stopped.

Ctrl-Z, a suspended job, a paused container and, on some systems, a sleeping machine stop all threads of a process, and
`time.perf_counter` goes on. A thread that should tick each second tells this from a slow step, during which it ticks.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress

TICK_SECONDS = 1.0
MIN_STOP_SECONDS = 5.0
"""A longer time between two ticks is a stop; a busy machine delays a thread by less."""


class RunningClock:
    """Seconds of this process, without those in which it was stopped for more than `MIN_STOP_SECONDS`."""

    def __init__(self) -> None:
        self.stopped = 0.0
        """Seconds in which the process was stopped."""
        self._last = time.perf_counter()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        # Where the system starts no more threads, no stop is found.
        with suppress(RuntimeError):
            thread = threading.Thread(target=self._tick, name="slm-clock", daemon=True)
            thread.start()
            self._thread = thread

    @property
    def seconds(self) -> float:
        """Since a moment in the past that does not change."""
        with self._lock:
            now = time.perf_counter()
            if self._thread is not None and now - self._last > MIN_STOP_SECONDS:
                self.stopped += now - self._last
            self._last = now
            return now - self.stopped

    def _tick(self) -> None:
        while not self._closed.wait(TICK_SECONDS):
            _ = self.seconds

    def close(self) -> None:
        """Ends the thread; the clock then goes on during stops."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
