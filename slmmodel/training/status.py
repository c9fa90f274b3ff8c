"""The state of a run from its folder alone: metrics, heartbeat and checkpoints; the process itself is not asked.

`status` reads the folder, `judge` gives the verdict. torch is not imported.
"""

from __future__ import annotations

import math
import platform
import re
import statistics
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from slmmodel.checkpoint import SUMS, RunFolder, read_train_state
from slmmodel.errors import CorruptFile
from slmmodel.files import reading
from slmmodel.folder_lock import is_locked
from slmmodel.indexing import explains_indexing
from slmmodel.json_files import FaultError, parse_object, validated
from slmmodel.run_entries import METRICS, RESULT
from slmmodel.run_files import MetricsLine, last_step_of_other_validation, origins
from slmmodel.sizes import Z95, format_time
from slmmodel.training.heartbeat import INTERVAL, read_heartbeat

MAX_LINE_BYTES = 16 << 20
"""Of `metrics.jsonl`."""
WINDOW = 200
"""Newest lines of metrics that speed, medians and trend are computed from."""
MIN_TREND_LINES = 20
MAX_SILENCE = 6 * INTERVAL
"""Seconds without a heartbeat after which the process counts as dead."""
STALE_SECONDS, STALE_STEPS = 600.0, 20
"""A run is stalled after this long without progress, or after the time of so many steps where that is longer."""
MAX_SKIPPED_SHARE = 0.1
"""Of the steps in the window: more of them skipped is divergence."""
_SIGNALLED = ("interrupted", "terminated")

Line = Mapping[str, Any]


@explains_indexing
class Trend(NamedTuple):
    """The least-squares line through the losses of the window, in nats per id."""

    per_1000_steps: float
    low: float
    high: float
    """95 % interval of the slope, for noise that is independent from line to line"""
    noise: float
    """standard deviation of the losses around the line"""
    steps: int
    """from the first to the last step of the window"""
    lines: int

    @property
    def is_rising(self) -> bool:
        """Whether the loss rises over the window by more than its noise, also at the low end of the interval."""
        return self.low * self.steps / 1000 > max(self.noise, 1e-9)


@explains_indexing
class Pace(NamedTuple):
    """Means over the window; validation and saving do not count."""

    seconds_per_step: float
    tokens_per_s: float
    data_wait: float
    """share of the time in which training waited for data"""


@explains_indexing
@dataclass(frozen=True)
class RunStatus:
    """What the folder of a run tells; None is unknown."""

    path: str
    verdict: str
    """healthy, stalled, diverging, finished or killed"""
    reason: str
    alive: bool
    branch: list[str]
    """`run_files.origins`"""
    heartbeat: dict[str, Any] | None
    """the last one: host, pid, stage, step, steps, ended, and the Unix times `time` and `progress_time`"""
    step: int
    steps: int | None
    """planned"""
    last: dict[str, Any]
    """the newest line of `metrics.jsonl`"""
    pace: Pace | None
    trend: Trend | None
    median_grad_norm: float | None
    seconds_left: float | None
    """of training, without validation"""
    val_bpb: float | None
    best_bpb: float | None
    best_step: int | None
    spikes: list[int]
    """their steps"""
    checkpoints: list[int]
    """their steps"""
    checkpoint_age: float | None
    """seconds since the newest was written"""
    gates: list[list[float | None]] | None
    """[n_layers][n_heads], newest"""
    memory_norm: list[float | None] | None
    """[n_layers], newest: Frobenius norm of the memory of infini"""
    memory_ids: int | None
    """newest: ids that this memory holds"""

    @property
    def is_healthy(self) -> bool:
        """Whether the run goes well or has finished."""
        return self.verdict in ("healthy", "finished")

    def to_dict(self) -> dict[str, Any]:
        """JSON-compatible values."""
        table = asdict(self)
        return table | {key: part and part._asdict() for key, part in (("pace", self.pace), ("trend", self.trend))}


def status(run: RunFolder, *, stale: float | None = None, now: float | None = None) -> RunStatus:
    """The state of a run at the Unix time `now`. `stale`: seconds without progress after which it is stalled.

    Raises `CorruptFile` for files of the run that cannot be read.
    """
    now = time.time() if now is None else now
    lines, beat, result = read_metrics(run.path, newest=WINDOW), read_heartbeat(run.path), run.result
    last, recent = lines[-1] if lines else {}, lines[-WINDOW:]
    # The heartbeat is some seconds behind the metrics, which are not written at each step of a long run.
    step = result.get("step") or max(last.get("step", 0), beat["step"] if beat else 0)
    steps = (result or beat or {}).get("steps") or run.fingerprint.get("steps")
    pace, trend, checkpoints = pace_of(recent), trend_of(recent), run.checkpoints.list()
    for newest in checkpoints[-1:] if not result else ():
        # As for resuming, a checkpoint under the name of another one is none. A finished run needs no checkpoint.
        read_train_state(run.checkpoints.path(newest))
    alive = not result and is_alive(run, beat, now)
    if result:
        verdict, reason = (
            "finished",
            f"step {step:,} of {steps:,}" + ("" if result["reason"] == "finished" else f", {result['reason']}"),
        )
    elif not alive:
        verdict, reason = _judge_dead(beat, step, checkpoints, now)
    else:
        assert beat is not None
        verdict, reason = _judge_alive(beat, pace, trend, recent, stale, now)
    validated = comparable_validations(lines, run.fingerprint)
    best = min(validated, key=lambda line: line["val_bpb"], default={})
    norms = [line["grad_norm"] for line in recent if line.get("grad_norm") is not None]
    return RunStatus(
        path=str(run.path),
        verdict=verdict,
        reason=reason,
        alive=alive,
        branch=origins(run.fingerprint),
        heartbeat=beat,
        step=step,
        steps=steps,
        last=last,
        pace=pace,
        trend=trend,
        median_grad_norm=statistics.median(norms) if norms else None,
        seconds_left=pace.seconds_per_step * max(steps - step, 0) if pace and steps and not result else None,
        val_bpb=validated[-1]["val_bpb"] if validated else None,
        best_bpb=best.get("val_bpb"),
        best_step=best.get("step"),
        spikes=[line["step"] for line in lines if line.get("spike")],
        checkpoints=checkpoints,
        checkpoint_age=_age(run, checkpoints, now),
        gates=_newest(lines, "gates"),
        memory_norm=_newest(lines, "memory_norm"),
        memory_ids=_newest(lines, "memory_ids"),
    )


def comparable_validations(lines: Sequence[Line], fingerprint: Mapping[str, Any]) -> list[Line]:
    """The lines that were validated on the data of the run and on the same targets as the last one; before a branch
    they may have been others.
    """
    first_step = last_step_of_other_validation(fingerprint) + 1
    validated = [line for line in lines if line["step"] >= first_step and line.get("val_bpb") is not None]
    scored = [line.get("val_targets") for line in validated]
    first = next((at for at in range(len(scored), 0, -1) if scored[at - 1] != scored[-1]), 0)
    return validated[first:]


def _newest(lines: Sequence[Line], field: str) -> Any:
    """The value of the last line that has one."""
    return next((line[field] for line in reversed(lines) if line.get(field) is not None), None)


_ASCENDING = ("step", "tokens", "seconds")
"""Fields that do not fall from line to line."""


_EVENTS = (b'"val_bpb"', b'"spike"')
"""Fields of lines that the state of a run is made of also where they are old: validations and spikes."""


def read_metrics(folder: Path, *, newest: int | None = None) -> list[dict[str, Any]]:
    """The complete lines of `metrics.jsonl`; a running process may be writing the last one.

    newest: the number of last lines to read; of earlier lines, only those of `_EVENTS` are read. Parsing the others
    would take 20 us a line. Raises `CorruptFile`, `Unreadable`.
    """
    path, found = folder / METRICS, list[dict[str, Any]]()
    if not path.is_file():
        return found
    fix, held = _fix_of_lines(folder), deque[tuple[int, bytes]]()
    with reading(path), path.open("rb") as file:
        for number, line in _complete_lines(file, fix):
            held.append((number, line))
            if newest is None or len(held) > newest:
                number, line = held.popleft()
                if newest is None or any(field in line for field in _EVENTS):
                    _add_line(found, line, f"{path}, line {number}", fix)
    for number, line in held:
        _add_line(found, line, f"{path}, line {number}", fix)
    return _with_equal_gates(found, path)


_MIN_THINNED_BYTES = 4 << 20
_PARTS = 2000
"""Of a long file; a picture has fewer columns of dots."""
_LOSS = re.compile(rb'"loss": ?(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)')


class DrawnLines(NamedTuple):
    """The lines of `metrics.jsonl` that a picture shows."""

    lines: list[dict[str, Any]]
    n_lines: int
    """of the file"""
    n_damaged: int = 0
    """lines that are no JSON object; the picture lacks them"""
    first_damaged: int = 0
    """number of the first of them"""


def _is_damaged(line: bytes) -> bool:
    """Whether a line is no JSON object of metrics, as far as its bytes say without parsing it."""
    is_object = line.startswith(b"{") and line.endswith(b"}\n") and b'"loss":' in line
    return not is_object or not line.isascii() or b"\0" in line or line.count(b'"') % 2 == 1


def read_drawn(folder: Path) -> DrawnLines:
    """The lines of `metrics.jsonl` that a picture shows.

    Of a long file these are the first, the last, those of `_EVENTS`, and in each of `_PARTS` those of the least and the
    greatest loss: they look like all lines, of which parsing would take 20 us a line. Raises as `read_metrics`.
    """
    path = folder / METRICS
    if not path.is_file() or path.stat().st_size < _MIN_THINNED_BYTES:
        found = read_metrics(folder)
        return DrawnLines(found, len(found))
    damaged: list[int] = []
    fix, kept, losses = _fix_of_lines(folder), dict[int, bytes](), list[tuple[float, int, bytes]]()
    number, line, position, part_bytes = 0, b"", 0, path.stat().st_size // _PARTS
    with reading(path), path.open("rb") as file:
        for number, line in _complete_lines(file, fix):
            if number == 1 or any(field in line for field in _EVENTS):
                kept[number] = line
            elif _is_damaged(line):
                damaged.append(number)
            elif loss := _LOSS.search(line):
                losses.append((float(loss[1]), number, line))
            position += len(line)
            if position > part_bytes and losses:
                kept |= {number: line for _, number, line in (min(losses), max(losses))}
                losses, position = [], 0
    if not number:
        return DrawnLines([], 0)
    kept[number] = line
    kept |= {number: line for _, number, line in losses}
    found = []
    for number in sorted(kept):
        _add_line(found, kept[number], f"{path}, line {number}", fix)
    damaged = [number for number in damaged if number not in kept]
    return DrawnLines(_with_equal_gates(found, path), max(kept), len(damaged), min(damaged, default=0))


def _fix_of_lines(folder: Path) -> str:
    is_finished = (folder / RESULT).is_file()
    return "remove the line" if is_finished else "slm resume cuts the file to the last checkpoint; or remove the line"


def _complete_lines(file: BinaryIO, fix: str) -> Iterator[tuple[int, bytes]]:
    """Number and content of each line. Raises `CorruptFile` for one longer than any that training writes."""
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), 1):
        if len(line) > MAX_LINE_BYTES:
            # Such as that of a sparse file of any size, which takes no space.
            where, limit = f"{file.name}, line {number}", f"{MAX_LINE_BYTES:,} bytes a line"
            raise CorruptFile(f"{METRICS} has a longer line than training writes", where=where, limit=limit, fix=fix)
        if not line.endswith(b"\n"):
            return
        yield number, line


def _with_equal_gates(found: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """The lines. Raises `CorruptFile` where their gates are those of several models."""
    shapes = {tuple(map(len, line["gates"])) for line in found if line.get("gates")}
    if len(shapes) > 1:
        fact, fix = f"{METRICS} has gates of {len(shapes)} shapes", "restore the file"
        raise CorruptFile(fact, where=str(path), limit="n_layers lists of n_heads gates", fix=fix)
    return found


def _add_line(found: list[dict[str, Any]], line: bytes, where: str, fix: str) -> None:
    """Adds a line to those before it. Raises `CorruptFile`."""
    found.append(_parse_line(line, where, fix))
    before, last = found[max(-2, -len(found))], found[-1]
    if fallen := next((name for name in _ASCENDING if last[name] < before[name]), None):
        fact = f"{METRICS} has {fallen} {last[fallen]:,} after {before[fallen]:,}"
        raise CorruptFile(fact, where=where, limit="lines in the order of the steps", fix=fix)


def _parse_line(line: bytes, where: str, fix: str) -> dict[str, Any]:
    try:
        table = parse_object(line)
    except FaultError as fault:
        raise CorruptFile(f"{METRICS} {fault}", where=where, fix=fix) from None
    return validated(table, MetricsLine, where, fix=fix).model_dump(exclude_unset=True)


def trend_of(lines: Sequence[Line]) -> Trend | None:
    """The trend of the finite losses; None for fewer than `MIN_TREND_LINES`, and for lines of one step."""
    points = [(line["step"], line["loss"]) for line in lines if line.get("loss") is not None]
    if len(points) < MIN_TREND_LINES:
        return None
    x, y = np.array(points, dtype=np.float64).T
    centred = x - x.mean()
    spread = float(centred @ centred)
    if spread == 0:
        return None
    slope = float(centred @ y) / spread
    residuals = y - y.mean() - slope * centred
    noise = math.sqrt(float(residuals @ residuals) / (len(points) - 2))
    margin = Z95 * noise / math.sqrt(spread)
    low, high = 1000 * (slope - margin), 1000 * (slope + margin)
    return Trend(1000 * slope, low, high, noise, int(x[-1] - x[0]), len(points))


def pace_of(lines: Sequence[Line]) -> Pace | None:
    """Means between the first and the last line; None without two of them."""
    if len(lines) < 2:
        return None
    first, last = lines[0], lines[-1]
    steps, seconds = last["step"] - first["step"], max(last["seconds"] - first["seconds"], 1e-9)
    waits = [line.get("data_wait") or 0.0 for line in lines[1:]]
    return Pace(seconds / max(steps, 1), (last["tokens"] - first["tokens"]) / seconds, sum(waits) / len(waits))


def is_alive(run: RunFolder, beat: Line | None, now: float) -> bool:
    """Whether a process trains the run: on its own host by the lock of the folder, elsewhere by its heartbeat.

    Locks of network file systems are often known on one host only.
    """
    if beat is None or beat["ended"] is not None:
        return False
    held = is_locked(run.path) if beat.get("host") == platform.node() else None
    # A sign from the future is one of another clock, and as little of life as an old one.
    return abs(now - beat["time"]) <= MAX_SILENCE if held is None else held


def _judge_dead(beat: Line | None, step: int, checkpoints: Sequence[int], now: float) -> tuple[str, str]:
    """Verdict and reason of a run that is not finished and that no process trains."""
    if beat is None:
        return "killed", "no process trains it; slm resume continues it"
    ended = beat["ended"]
    lost = step - (checkpoints[-1] if checkpoints else 0)
    repeats = f"slm resume repeats {lost:,} steps since the last checkpoint" if lost > 0 else "slm resume continues it"
    if ended is None:
        silent, process = now - beat["time"], f"process {beat['pid']} on {beat.get('host')}"
        ahead = f"the last sign of {process} is {format_time(-silent)} ahead of the clock of this machine"
        return "killed", f"{ahead if silent < 0 else f'no sign of {process} for {format_time(silent)}'}; {repeats}"
    if ended.startswith("NotFinite"):
        return "diverging", f"it ended at step {step:,}: {ended}"
    how = f"it was {ended}" if ended in _SIGNALLED else f"it ended with {ended or 'an unknown error'}"
    return "killed", f"{how}, at step {step:,}; {repeats}"


def _judge_alive(
    beat: Line, pace: Pace | None, trend: Trend | None, recent: Sequence[Line], stale: float | None, now: float
) -> tuple[str, str]:
    """Verdict and reason of a run that a process trains."""
    silence = max(now - beat["progress_time"], 0)
    stale = max(STALE_SECONDS, STALE_STEPS * pace.seconds_per_step if pace else 0) if stale is None else stale
    if silence > stale:
        usual = f"; a step takes {format_time(pace.seconds_per_step)}" if pace else ""
        return "stalled", f"{beat['stage']} without progress for {format_time(silence)} at step {beat['step']:,}{usual}"
    steps = recent[-1]["step"] - recent[0]["step"] if recent else 0
    skipped = recent[-1].get("skipped", 0) - recent[0].get("skipped", 0) if recent else 0
    if skipped > MAX_SKIPPED_SHARE * steps:
        return "diverging", f"{skipped:,} of the last {steps:,} steps were skipped: loss or gradient was not finite"
    if trend is not None and trend.is_rising:
        rise = f"{trend.per_1000_steps:+.3g} nats per id in 1,000 steps ({trend.low:+.3g} to {trend.high:+.3g})"
        return "diverging", f"the loss rises over the last {trend.steps:,} steps: {rise}"
    if beat["stage"] == "training":
        return "healthy", f"a step was done {format_time(silence)} ago"
    return "healthy", f"{beat['stage']} for {format_time(silence)}"


def _age(run: RunFolder, checkpoints: Sequence[int], now: float) -> float | None:
    """Seconds since the newest checkpoint was completed; None without one, or where it was removed just now."""
    with suppress(FileNotFoundError, IndexError):
        return now - (run.checkpoints.path(checkpoints[-1]) / SUMS).stat().st_mtime
    return None
