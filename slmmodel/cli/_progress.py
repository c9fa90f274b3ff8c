"""Progress on stderr: a bar on a terminal, a few plain lines elsewhere, nothing with `--quiet`.

A `Progress` is called as (stage, done, total, text); total 0 where nobody knows it. `text` is what else is worth
knowing now: loss, speed, time left.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PATIENCE = 5.0
"""Seconds between two plain lines, and before the first."""
STEP = 10
"""Per cent between two plain lines of one stage."""


class Progress:
    """Use it in a `with` block."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}
        self._last = time.monotonic()
        self._shown: dict[str, int] = {}

    def __enter__(self) -> Progress:
        if not self._quiet and sys.stderr.isatty():
            self._bar = _bar()
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, stage: str, done: int, total: int, text: str = "") -> None:
        if self._bar is not None:
            if stage not in self._tasks:
                self._tasks[stage] = self._bar.add_task(stage, total=total or None, text="")
            self._bar.update(self._tasks[stage], completed=done, total=total or None, text=text)
        elif not self._quiet:
            self._say(stage, done, total, text)

    def _say(self, stage: str, done: int, total: int, text: str) -> None:
        now = time.monotonic()
        percent = done * 100 // total if total else 0
        if now - self._last < PATIENCE or (total and percent < self._shown.get(stage, 0) + STEP):
            return
        self._last = now
        self._shown[stage] = percent
        amount = f"{percent} %" if total else f"{done:,}"
        sys.stderr.write(f"{stage}: {amount}{f', {text}' if text else ''}\n")
        sys.stderr.flush()


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}"),
        console=Console(stderr=True),
        transient=True,
    )
