"""Progress on stderr: bars by rich on a terminal, a plain line every five seconds elsewhere, nothing with `--quiet`.

A `Progress` is the callback that the engine takes. The engine checks for Ctrl-C where it calls it, so a quiet command
passes one as well.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slmtok.cli.output import settings

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID
    from typing_extensions import Self

LINE_INTERVAL_SECONDS = 5.0
"""Between two plain lines, and before the first."""
LINE_STEP_PERCENT = 10
"""Between two plain lines of one stage."""


def _make_bars() -> Bars:
    """rich's progress display, which draws from now on."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}"),
        console=Console(stderr=True),
        transient=True,
    )
    bars.start()
    return bars


class Progress:
    """Called as (stage, done, total, text); `total` is 0 where it is unknown. Use it in a `with` block.

    A stage that is reported in parts (a file or a batch at a time) restarts at 0 with each; the parts are summed.
    `expected` is the total of such a stage where the command knows it.
    """

    def __init__(self, *, quiet: bool | None = None, expected: Mapping[str, int] | None = None) -> None:
        self.quiet = settings().quiet if quiet is None else quiet
        self._expected = dict(expected or {})
        self._parts: dict[str, tuple[int, int]] = {}
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._last_line = time.monotonic()
        self._shown_percent: dict[str, int] = {}

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            self._bars = _make_bars()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Removes the bars, so that other lines can be written."""
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, stage: str, done: int, total: int, text: str = "") -> None:
        """Reports a part of a stage."""
        before, last = self._parts.get(stage, (0, 0))
        before += last if done < last else 0
        self._parts[stage] = (before, done)
        total = self._expected.get(stage) or (0 if before else total)
        self.report(stage, min(before + done, total) if total else before + done, total, text)

    def report(self, stage: str, done: Any, total: Any, text: str = "", *, amount: str | None = None) -> None:
        """Draws a bar or writes a line. `amount` replaces the percentage in a line."""
        if self._bars is not None:
            if stage not in self._tasks:
                self._tasks[stage] = self._bars.add_task(stage, total=total or None, text="")
            self._bars.update(self._tasks[stage], completed=done, total=total or None, text=text)
        elif not self.quiet:
            self._write_line(stage, done, total, text, amount)

    def _write_line(self, stage: str, done: Any, total: Any, text: str, amount: str | None) -> None:
        now = time.monotonic()
        percent = int(done * 100 // total) if total else 0
        if now - self._last_line < LINE_INTERVAL_SECONDS:
            return
        if amount is None and total and percent < self._shown_percent.get(stage, 0) + LINE_STEP_PERCENT:
            return
        self._last_line = now
        self._shown_percent[stage] = percent
        amount = amount or (f"{percent} %" if total else f"{done:,}")
        sys.stderr.write(f"{stage}: {', '.join(part for part in (amount, text) if part)}\n")
        sys.stderr.flush()
