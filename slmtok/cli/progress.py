"""Progress on stderr: a bar or a spinner on a terminal, plain lines elsewhere, nothing with `--quiet`.

A `Progress` is the callback that the engine takes. The engine checks for Ctrl-C where it calls it, so a quiet command
passes one as well.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

from slmtok.cli.output import printable, settings
from slmtok.sizes import format_bytes

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import Task, TaskID
    from typing_extensions import Self

LINE_INTERVAL_SECONDS = 5.0
"""Between two plain lines, and before the first."""
LINE_STEP_PERCENT = 10
"""Between two plain lines of one stage, unless the last one is older than `MAX_SILENCE_SECONDS`."""
MAX_SILENCE_SECONDS = 60.0
"""Without a plain line, also where nothing is reported."""
MIN_BAR_COLUMNS, MAX_BAR_COLUMNS = 8, 40
BYTE_STAGES = ("count", "encode", "measure", "align", "compare", "audit")
"""First words of stages whose amount is bytes of text where their total is unknown."""
_NO_STREAM = (AttributeError, ValueError)
"""Errors of a stderr that is None (pythonw, services), another object, or closed."""
MAIN_PARTS = 3
"""Parts of the text for which the bar may become shorter than `MIN_BAR_COLUMNS`."""


def format_clock(seconds: float) -> str:
    """0:07, 12:30, 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def format_bar(task: Task, width: int) -> str:
    """One line of at most `width` columns: stage, bar, amount, parts of the text, elapsed time.

    The text is cut between its parts, never inside one. A stage of unknown length has a spinner instead of a bar.
    """
    text, amount = task.fields["text"], task.fields["amount"]
    elapsed = format_clock(task.elapsed or 0)
    if not task.total:
        spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[int(10 * (task.elapsed or 0)) % 10]
        head = f"{spinner} {task.description}"
        amount = amount or (f"{int(task.completed):,}" if task.completed else "")
    else:
        head = task.description
        amount = amount or f"{int(task.percentage)} %"
    parts = [amount] if amount else []
    free = width - len("  ".join([head, *parts, elapsed]))
    for number, part in enumerate(text.split(", ") if text else []):
        free -= len(part) + 2
        if free < (MIN_BAR_COLUMNS + 1 if task.total and number >= MAIN_PARTS else 0):
            break
        parts.append(part)
    tail = "  ".join([*parts, elapsed])
    if task.total:
        columns = max(0, min(MAX_BAR_COLUMNS, width - len(head) - len(tail) - 3))
        full = int(columns * min(task.completed / task.total, 1))
        head += f" {'━' * full}{'╌' * (columns - full)}" if columns else ""
    return f"{head}  {tail}"[:width]


def _make_bars() -> Bars:
    """rich's progress display, which draws from now on."""
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.text import Text

    console = Console(stderr=True)

    class Line(ProgressColumn):
        """The whole line, so that no column is squeezed."""

        def render(self, task: Task) -> Text:
            return Text(format_bar(task, console.width), no_wrap=True)

    bars = Progress(Line(), console=console, transient=True)
    bars.start()
    return bars


def _has_terminal() -> bool:
    with suppress(*_NO_STREAM):
        return sys.stderr.isatty()
    return False


class Progress:
    """Called as (stage, done, total, text); `total` is 0 where it is unknown. Use it in a `with` block.

    A stage that is reported in parts (a file or a batch at a time) restarts at 0 with each; the parts are summed.
    `expected` is the total of such a stage where the command knows it. `stage` is shown until another is reported.
    A block inside another one gets the object of that one.
    """

    _active: ClassVar[Progress | None] = None

    def __init__(
        self, stage: str = "starting", *, quiet: bool | None = None, expected: Mapping[str, int] | None = None
    ) -> None:
        self.quiet = settings().quiet if quiet is None else quiet
        self._stage = stage
        self._expected = dict(expected or {})
        self._parts: dict[str, tuple[int, int]] = {}
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._last_line = time.monotonic()
        self._last_report = stage
        self._shown_percent: dict[str, int] = {}
        self._line_step_percent = LINE_STEP_PERCENT
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def __enter__(self) -> Self:
        if Progress._active is not None:
            return cast("Self", Progress._active)
        if not self.quiet and _has_terminal():
            self._bars = _make_bars()
            self.report(self._stage, 0, 0)
        elif not self.quiet:
            # Where the system starts no more threads, a long silence stays one.
            with suppress(RuntimeError):
                threading.Thread(target=self._repeat_lines, daemon=True).start()
        Progress._active = self
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Removes the bar, so that other lines can be written."""
        if Progress._active is self:
            Progress._active = None
        self._stopped.set()
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
        """Draws a bar or writes a line. `amount` replaces the percentage; `text` is parts separated by ", "."""
        if amount is None and done and not total and stage.split()[0] in BYTE_STAGES:
            amount = format_bytes(done)
        if self._bars is not None:
            self._draw(self._bars, stage, done, total, {"text": printable(text), "amount": amount})
        elif not self.quiet:
            self._write_line(stage, done, total, text, amount)
        self._stage = stage

    def _draw(self, bars: Bars, stage: str, done: Any, total: Any, fields: Mapping[str, Any]) -> None:
        """Shows a stage in the place of the one before it."""
        is_new = stage not in self._tasks
        if is_new:
            # rich draws a task when it is added: a visible one would flash below the stage that it replaces.
            self._tasks[stage] = bars.add_task(stage, total=total or None, visible=False, **fields)
        if stage != self._stage:
            for task in self._tasks.values():
                bars.update(task, visible=False)
        bars.update(self._tasks[stage], completed=done, total=total or None, visible=True, refresh=is_new, **fields)

    def line(self, text: str) -> None:
        """Writes a line that stays, above the bar."""
        if self._bars is not None:
            self._bars.console.print(printable(text), markup=False, highlight=False, soft_wrap=True)
        elif not self.quiet:
            with self._lock:
                self._write(text)

    def _write_line(self, stage: str, done: Any, total: Any, text: str, amount: str | None) -> None:
        percent = int(done * 100 // total) if total else 0
        with self._lock:
            silence = self._silence()
            shown = amount or (f"{percent} %" if total else f"{done:,}" if done else "")
            details = ", ".join(part for part in (shown, text) if part)
            self._last_report = f"{stage}: {details}" if details else stage
            has_moved = not total or percent >= self._shown_percent.get(stage, 0) + self._line_step_percent
            if silence < LINE_INTERVAL_SECONDS or not (has_moved or silence >= MAX_SILENCE_SECONDS):
                return
            self._shown_percent[stage] = percent
            self._write(self._last_report)

    def _repeat_lines(self) -> None:
        """Repeats the last report where no line was written for a minute. Runs in a thread of its own."""
        begun = time.monotonic()
        while not self._stopped.wait(max(0.1, MAX_SILENCE_SECONDS - self._silence())):
            with self._lock:
                if self._silence() >= MAX_SILENCE_SECONDS:
                    self._write(f"{self._last_report} ({format_clock(time.monotonic() - begun)} elapsed)")

    def _silence(self) -> float:
        """Seconds since the last line; a clock that has gone back begins them anew."""
        now = time.monotonic()
        self._last_line = min(self._last_line, now)
        return now - self._last_line

    def _write(self, line: str) -> None:
        self._last_line = time.monotonic()
        # No line of progress is worth the work that it reports.
        with suppress(*_NO_STREAM, OSError):
            sys.stderr.write(printable(line) + "\n")
            sys.stderr.flush()
