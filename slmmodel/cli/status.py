"""`slm status`: whether a run goes well, from its folder alone, on any host that sees it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.options import SECONDS, run_argument
from slmmodel.sizes import format_bytes, format_count, format_time, parse_time
from slmtok.cli.errors import EXTRA
from slmtok.cli.options import command, instead, option
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, Row, counted, has_colour, print_rows, settings

if TYPE_CHECKING:
    from slmmodel.training.status import RunStatus

MAX_HEADS = 16
"""More gates of a layer are shown as minimum, mean and maximum."""


def _interval(value: str | None, arguments: Sequence[str]) -> str:
    """For an argument too many: the time of --watch, which is that of --every."""
    is_time = "--watch" in arguments and value is not None and parse_time(value)
    return f"--watch --every {value}" if is_time else ""


@command("status", example="slm status run", habits={"--follow": instead("--watch"), EXTRA: _interval})
@run_argument
@option("--watch", is_flag=True, help="Print again every --every seconds until no process trains the run.")
@option("--every", metavar="TIME", type=SECONDS, default=5.0, show_default="5s",
        help="Time between two looks.", needs="--watch")  # fmt: skip
@option("--stale", metavar="TIME", type=SECONDS, show_default="10min, or 20 steps where they take longer",
        help="A run without a step for longer is stalled.")  # fmt: skip
def status(run: str, watch: bool, every: float, stale: float | None) -> Outcome:
    """Say whether a run goes well: healthy, stalled, diverging, finished or killed. Exit with status 3 if not.

    Only files of the run are read, so it works on any host that sees its folder.
    """
    from slmmodel.training.status import status as read_status

    folder = RunFolder.open(run)
    found = read_status(folder, stale=stale)
    while watch and found.alive:
        if not settings().as_json:
            _show(found)
        time.sleep(every)
        found = read_status(folder, stale=stale)
        if has_colour(sys.stdout):
            click.clear()
    code = DONE if found.is_healthy else ANSWER_NO
    return Outcome(found.to_dict(), lambda: _show(found), code=code)


def _show(found: RunStatus) -> None:
    print_rows(status_rows(found), title=found.path)


def status_rows(found: RunStatus) -> list[Row]:
    """The table of `slm status`."""
    last, pace, beat = found.last, found.pace, found.heartbeat
    process = ""
    if found.alive and beat is not None:
        process = f"{beat['pid']} on {beat.get('host')}, {beat['stage']}"
    of_steps = "" if found.steps is None else f" of {found.steps:,}"
    left = "" if found.seconds_left is None else f", {format_time(found.seconds_left)} left"
    best = "" if found.best_bpb is None else f"best {found.best_bpb:.4f} at step {found.best_step:,}"
    norm = _finite(last.get("grad_norm"))
    speed = ""
    if pace is not None:
        speed = f"{format_count(pace.tokens_per_s)} ids/s, {pace.data_wait:.1%} of the time waits for data"
    return [
        ("verdict", f"{found.verdict}: {found.reason}"),
        ("process", process),
        ("branch", "\n".join(found.branch)),
        ("step", f"{found.step:,}{of_steps}, {format_time(last.get('seconds', 0.0))} of training{left}"),
        ("loss", _loss(found)),
        ("validation", "" if found.val_bpb is None else f"{found.val_bpb:.4f} bits per byte; {best}"),
        ("gradient", "" if found.median_grad_norm is None else f"norm {norm}; median {found.median_grad_norm:.3g}"),
        (
            "spikes",
            f"{counted(len(found.spikes), 'spike')}, the last at step {found.spikes[-1]:,}" if found.spikes else "",
        ),
        ("skipped", f"{last['skipped']:,} steps" if last.get("skipped") else ""),
        ("speed", speed),
        ("memory", f"{format_bytes(last['memory'])} at its peak" if last.get("memory") else ""),
        ("checkpoint", _checkpoint(found)),
        ("gates", "\n".join(_gates(found.gates))),
        ("memory M", _memory_norm(found)),
    ]


def _loss(found: RunStatus) -> str:
    if not found.last:
        return ""
    loss, trend = found.last.get("loss"), found.trend
    text = "not finite" if loss is None else f"{loss:.4f} nats per id"
    if trend is None:
        return text
    slope = f"{trend.per_1000_steps:+.3g} in 1,000 steps ({trend.low:+.3g} to {trend.high:+.3g} at 95 %)"
    return f"{text}; {slope} over the last {trend.steps:,} steps"


def _finite(norm: float | None) -> str:
    return "not finite" if norm is None else f"{norm:.3g}"


def _checkpoint(found: RunStatus) -> str:
    if not found.checkpoints:
        return "none yet"
    age = "" if found.checkpoint_age is None else f", written {format_time(max(found.checkpoint_age, 0))} ago"
    if found.checkpoint_age is not None and found.checkpoint_age <= -1:
        # Clocks of file systems differ by less.
        age = f", its time {format_time(-found.checkpoint_age)} ahead of the clock of this machine"
    return f"step {found.checkpoints[-1]:,}{age}; {counted(len(found.checkpoints), 'checkpoint')}"


def _memory_norm(found: RunStatus) -> str:
    if found.memory_norm is None:
        return ""
    return f"norm by layer {' '.join(map(_finite, found.memory_norm))}, after {counted(found.memory_ids or 0, 'id')}"


def _gates(gates: list[list[float | None]] | None) -> list[str]:
    """A line for each layer: its mean, and each head or the range of many; None is not finite."""
    lines = []
    for layer, listed_heads in enumerate(gates or []):
        heads = [gate for gate in listed_heads if gate is not None]
        if len(heads) < len(listed_heads):
            lines.append(f"layer {layer}: {len(listed_heads) - len(heads)} of {len(listed_heads)} gates not finite")
            continue
        listed = " ".join(f"{gate:.2f}" for gate in heads)
        if len(heads) > MAX_HEADS:
            listed = f"{min(heads):.2f} to {max(heads):.2f} over {len(heads)} heads"
        lines.append(f"layer {layer}: mean {sum(heads) / len(heads):.3f}   {listed}")
    return lines
