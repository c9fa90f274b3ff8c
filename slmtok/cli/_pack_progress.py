"""Progress of `slmtok pack` on stderr: share done, documents/s, MB/s, ids/s, time left.

A bar on a terminal, a plain line from time to time elsewhere, nothing with `--quiet`. How much is left is told by the
bytes of the files that are read, packed as they are; nobody knows it for standard input.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from slmtok.cli._numbers import grouped, in_bytes, in_time
from slmtok.cli._progress import PATIENCE

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from slmtok.corpus import ReadOptions
    from slmtok.shards.journal import State


class PackProgress:
    """Called with the state of the run after each unit. Use it in a `with` block."""

    def __init__(self, read: ReadOptions, *, quiet: bool) -> None:
        self.docs = 0
        self._quiet = quiet
        self._limits = read.max_bytes, read.max_docs
        self._begun = self._last = time.monotonic()
        self._first: tuple[int, int, int] | None = None
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> PackProgress:
        if not self._quiet and sys.stderr.isatty():
            self._bar = _bar()
            self._task = self._bar.add_task("pack", total=None, rates="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, state: State) -> None:
        totals = state.totals("train").plus(state.totals("val"))
        self.docs = totals.docs
        seen = (totals.docs, totals.bytes, totals.tokens)
        if self._first is None:
            # What an earlier run had packed does not count as speed.
            self._first, self._begun = seen, time.monotonic()
            return
        now = time.monotonic()
        if self._bar is None and (self._quiet or now - self._last < PATIENCE):
            return
        self._last = now
        share = self._share(state.share, totals.bytes, totals.docs)
        rates = self._rates(seen, now - self._begun, share, totals.bytes)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=share or 0, total=1.0 if share else None, rates=rates)
        else:
            told = f"{share:.0%}, " if share is not None else ""
            sys.stderr.write(f"pack: {told}{grouped(totals.docs)} documents, {in_bytes(totals.bytes)}, {rates}\n")
            sys.stderr.flush()

    def _share(self, read: float | None, done: int, docs: int) -> float | None:
        """The part of the work that is done, None where nobody knows."""
        most_bytes, most_docs = self._limits
        parts = [done / most_bytes if most_bytes else 0.0, docs / most_docs if most_docs else 0.0, read or 0.0]
        return min(1.0, max(parts)) or None

    def _rates(self, seen: tuple[int, int, int], seconds: float, share: float | None, done: int) -> str:
        assert self._first is not None
        docs, size, tokens = (now - first for now, first in zip(seen, self._first, strict=True))
        seconds = max(seconds, 1e-9)
        told = f"{docs / seconds:,.0f} documents/s, {size / seconds / 1e6:,.0f} MB/s, {tokens / seconds:,.0f} ids/s"
        if share and size:
            told += f", {in_time(done * (1 - share) / share / (size / seconds))} left"
        return told


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[rates]}"),
        console=Console(stderr=True),
        transient=True,
    )
