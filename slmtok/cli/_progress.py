"""Progress on stderr: a bar on a terminal, a few plain lines elsewhere, nothing with `--quiet`.

A `Progress` is the callback that the engine takes. It is also the point where Ctrl-C is seen, so a quiet one is given
as well.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from slmtok.cli._numbers import grouped

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PATIENCE = 5.0
"""Seconds between two plain lines, and before the first."""
STEP = 10
"""Per cent between two plain lines of one stage."""


class Progress:
    """Called as (stage, done, total); total 0 where nobody knows it. Use it in a `with` block.

    A stage that comes in parts (a file, a batch at a time) begins anew with each; the parts are added up. `expected` is
    the total of such stages where the command knows it.
    """

    def __init__(self, *, quiet: bool = False, expected: Mapping[str, int] | None = None) -> None:
        self._quiet = quiet
        self._expected = dict(expected or {})
        self._parts: dict[str, tuple[int, int]] = {}
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

    def __call__(self, stage: str, done: int, total: int) -> None:
        before, last = self._parts.get(stage, (0, 0))
        before += last if done < last else 0
        self._parts[stage] = (before, done)
        total = self._expected.get(stage) or (0 if before else total)
        done = min(before + done, total) if total else before + done
        if self._bar is not None:
            self._draw(self._bar, stage, done, total)
        elif not self._quiet:
            self._say(stage, done, total)

    def _draw(self, bar: Bar, stage: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = bar.add_task(stage, total=total or None)
        bar.update(self._tasks[stage], completed=done, total=total or None)

    def _say(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        percent = done * 100 // total if total else 0
        if now - self._last < PATIENCE or (total and percent < self._shown.get(stage, 0) + STEP):
            return
        self._last = now
        self._shown[stage] = percent
        amount = f"{percent} %" if total else grouped(done)
        sys.stderr.write(f"{stage}: {amount}\n")
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
        console=Console(stderr=True),
        transient=True,
    )
