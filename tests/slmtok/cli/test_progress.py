"""Progress on a terminal of 80 and of 120 columns, and where nothing is reported for a minute."""

from __future__ import annotations

import io
import os
import pty
import re
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import rich.console
import rich.progress

from slmtok.cli import progress as runtime

ROOT = Path(__file__).parents[3]
SCRIPT = """
import time
from slmtok.cli.progress import Progress
with Progress("reading", quiet=False) as progress:
    time.sleep(0.3)
    for step in range(1, 31):
        text = "loss 5.123, 12,345 tokens/s, 0:12 left, 1.234 bpb, 1.2 MB/s"
        progress.report("training", step, 30, text, amount=f"step {step}/30")
        if step == 12:
            progress.line("step 12/30: validation 1.9 bits per byte")
        time.sleep(0.02)
"""


def run_on_terminal(
    columns: int, *arguments: str, program: str = sys.executable, env: Mapping[str, str] = os.environ
) -> tuple[int, list[str]]:
    """The exit status of Python, or of another program, on a terminal, and the lines that it drew, without escape
    sequences."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {**env, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": str(columns)}
        os.execvpe(program, [program, *arguments], environment)
    parts = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", b"".join(parts).decode())
    return status, [line for line in re.split(r"[\r\n]+", text) if line.strip()]


@pytest.mark.parametrize(("columns", "extra"), [(80, False), (120, True)])
def test_a_bar_has_everything_on_one_line(columns, extra):
    status, lines = run_on_terminal(columns, "-c", SCRIPT)
    assert status == 0, lines
    assert lines[0].endswith("reading  0:00")
    bars = [line for line in lines if line.startswith("training")]
    pattern = r"training [━╌]{8,40}  step \d+/30  loss 5\.123  12,345 tokens/s  0:12 left"
    pattern += r"  1\.234 bpb  1\.2 MB/s  0:0\d" if extra else r"  0:0\d"
    assert bars and all(re.fullmatch(pattern, line.rstrip()) for line in bars), bars
    assert all(len(line.rstrip()) <= columns for line in lines)
    assert lines.count("step 12/30: validation 1.9 bits per byte") == 1


def test_one_stage_is_drawn_at_a_time(monkeypatch):
    bars = rich.progress.Progress(console=rich.console.Console(file=io.StringIO()), auto_refresh=False)
    drawn = []
    monkeypatch.setattr(
        bars, "refresh", lambda: drawn.append([each.description for each in bars.tasks if each.visible])
    )
    monkeypatch.setattr(runtime, "_has_terminal", lambda: True)
    monkeypatch.setattr(runtime, "_make_bars", lambda: bars)
    with runtime.Progress(quiet=False) as progress:
        for stage in ("count", "merge", "count"):
            progress.report(stage, 1, 2)
            bars.refresh()
    assert all(len(stages) <= 1 for stages in drawn), drawn
    assert [stages[0] for stages, before in zip(drawn, [[], *drawn], strict=False) if stages and stages != before] == [
        *("starting", "count", "merge", "count")
    ]


def test_amounts_have_a_unit(capsys, clock):
    with runtime.Progress(quiet=False) as progress:
        for stage in ("count", "audit data", "probe"):
            clock[0] += 100
            progress(stage, 16_657_516, 0)
    assert capsys.readouterr().err.splitlines() == ["count: 16.7 MB", "audit data: 16.7 MB", "probe: 16,657,516"]


def test_long_runs_fit_80_columns():
    task = runtime_task(description="training", completed=10_000, total=100_000, elapsed=3723)
    text = "loss 3.123, 123,456 tokens/s, 2:05:00 left, 1.234 bpb"
    line = runtime.format_bar(task(text, "step 10000/100000"), 80)
    assert line == "training  step 10000/100000  loss 3.123  123,456 tokens/s  2:05:00 left  1:02:03"


def test_packing_has_a_bar_and_the_time_left_in_80_columns():
    task = runtime_task(description="pack", completed=0.5, total=1.0, elapsed=75)
    text = "120 MB/s, 12 min 30 s left, 1,234,567 documents, 1,353 documents/s, 14,141,440 ids/s"
    line = runtime.format_bar(task(text, "50 %, 12.3 GB"), 80)
    assert line == "pack ━━╌╌╌  50 %, 12.3 GB  120 MB/s  12 min 30 s left  1,234,567 documents  1:15"


def runtime_task(**fields):
    """A task of rich with these attributes."""

    class Task:
        percentage = 10.0

        def __init__(self, text: str, amount: str | None) -> None:
            self.fields = {"text": text, "amount": amount}

    for name, value in fields.items():
        setattr(Task, name, value)
    return Task


def test_at_least_a_line_a_minute(capsys, clock):
    with runtime.Progress() as progress:
        for done in range(400):
            clock[0] += 10
            progress("training", done, 100_000, "loss 5.1")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 4000 // 70 and all(line.startswith("training: 0 %, loss 5.1") for line in lines)


def test_a_line_a_minute_where_nothing_is_reported(capsys, monkeypatch):
    monkeypatch.setattr(runtime, "MAX_SILENCE_SECONDS", 0.2)
    with runtime.Progress("loading torch"):
        time.sleep(0.7)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2 and set(lines) <= {"loading torch (0:00 elapsed)"}


def test_a_clock_that_goes_back_silences_no_lines(capsys, clock):
    with runtime.Progress() as progress:
        clock[0] -= 3600
        for done in range(60):
            clock[0] += 10
            progress("training", done, 100_000, "loss 5.1")
    assert len(capsys.readouterr().err.splitlines()) >= 8


def test_a_system_that_starts_no_thread(monkeypatch, capsys):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with runtime.Progress(quiet=False) as first:
        pass
    with runtime.Progress(quiet=False) as second:
        assert second is not first


def test_a_block_inside_another_is_the_same_progress(capsys):
    with runtime.Progress() as outer, runtime.Progress() as inner:
        assert inner is outer
    with runtime.Progress() as later:
        assert later is not outer


class Log:
    """A stderr of a program with its own window."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stderr", [None, closed(), Log()], ids=["missing", "closed", "another object"])
def test_a_stderr_that_is_no_stream_ends_no_work(monkeypatch, clock, stderr):
    monkeypatch.setattr(sys, "stderr", stderr)
    with runtime.Progress(quiet=False) as progress:
        clock[0] += 100
        progress("training", 1, 2)
        progress.line("step 1: saved")
    assert not isinstance(stderr, Log) or stderr.text == "training: 50 %\nstep 1: saved\n"


def test_a_stderr_that_is_closed_meanwhile_ends_no_work(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with runtime.Progress(quiet=False) as progress:
        sys.stderr.close()
        progress.line("step 1: saved")
