"""Records: `record/<processor>/<date>.jsonl`, one job of one engine a line; and their measurements grouped into cells.

The first line of a record is the environment. In the others `load`, `first`, `third` (seconds) and `peak` (bytes) are
lists with one value a round. A cell is one definition at one text, size, number of threads and form of output. Metrics
are medians in seconds: `first` and `third` call, and `ready`, which is loading and the first call.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

RECORDS = Path(__file__).with_name("record")
OWN = "slmtok"
PER_ROUND = ("load", "first", "third", "peak")
METRICS = {"first": "first call", "third": "third call", "ready": "load + first call"}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Key:
    """The identity of a cell."""

    definition: str
    text: str = ""
    size: int = 0
    threads: int = 1
    output: str = ""

    def __str__(self) -> str:
        parts = [self.text and f"{self.text} {self.size:.0e}".replace("e+0", "e"), self.output]
        parts += [f"{self.threads} threads"] if self.threads > 1 else []
        return ", ".join([self.definition, *filter(None, parts)])


@dataclass
class Cell:
    """The rounds of each engine for one key, in the order of the definition."""

    key: Key
    engines: dict[str, list[Row]] = field(default_factory=dict)

    def refusal(self, engine: str) -> str | None:
        """Why an engine has no time here."""
        return next((row["verdict"] for row in self.engines[engine] if row["verdict"] != "ok"), None)

    def value(self, engine: str, metric: str) -> float | None:
        """Median of the rounds; None if the engine is not ranked or not measured."""
        if engine not in self.engines or self.refusal(engine):
            return None
        values = [value for row in self.engines[engine] if (value := metric_of(row, metric)) is not None]
        return median(values) if values else None

    def fastest(self, metric: str) -> tuple[str, float] | None:
        """The fastest peer that does the same work, and its time."""
        times = {
            engine: value
            for engine, rows in self.engines.items()
            if engine != OWN and not rows[0].get("alone") and (value := self.value(engine, metric)) is not None
        }
        return min(times.items(), key=lambda item: item[1]) if times else None

    def speedup(self, metric: str) -> float | None:
        """The time of the fastest peer divided by the time of slmtok."""
        own, other = self.value(OWN, metric), self.fastest(metric)
        return other[1] / own if own and other else None


def metric_of(row: Row, metric: str) -> float | None:
    """One metric of one measurement."""
    if metric == "ready":
        return row["load"] + row["first"] if "load" in row and "first" in row else None
    return row.get(metric)


def _key(row: Row) -> Key:
    return Key(row["definition"], row["text"], row["size"], row["threads"], row["output"])


def cells(rows: Iterable[Row]) -> list[Cell]:
    """All cells of a record, in its order."""
    found: dict[Key, Cell] = {}
    for row in rows:
        key = _key(row)
        found.setdefault(key, Cell(key)).engines.setdefault(row["engine"], []).append(row)
    return list(found.values())


def read(record: Path) -> tuple[Row, list[Row]]:
    """(environment, measurements) of a record."""
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return lines[0]["environment"], [row for line in lines[1:] for row in _rounds(line)]


def _rounds(line: Row) -> Iterator[Row]:
    """The measurements of a line."""
    lists = {metric: line[metric] for metric in PER_ROUND if metric in line}
    for number in range(max(map(len, lists.values()), default=1)):
        yield {**line, "round": number, **{metric: values[number] for metric, values in lists.items()}}


def write(record: Path, environment: Row, rows: Sequence[Row]) -> None:
    """Writes a record atomically."""
    record.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(line) + "\n" for line in [{"environment": environment}, *_lines(rows)])
    partial = record.with_name(record.name + ".new")
    partial.write_text(lines, encoding="utf-8")
    partial.replace(record)


def _lines(rows: Sequence[Row]) -> Iterator[Row]:
    """One line for the rounds of each job; a verdict other than "ok" stands in its last round."""
    jobs: dict[tuple[Key, str], list[Row]] = {}
    for row in rows:
        jobs.setdefault((_key(row), row["engine"]), []).append(row)
    for rounds in jobs.values():
        line = {name: value for name, value in rounds[0].items() if name != "round"}
        lists = {metric: [row[metric] for row in rounds if metric in row] for metric in PER_ROUND if metric in line}
        yield {**line, **lists, "verdict": rounds[-1]["verdict"]}


def replace(environment: Row, rows: Sequence[Row], order: Sequence[str], folder: Path = RECORDS) -> Path:
    """Writes today's record of this processor from its newest record and `rows`; deletes the older one (git keeps it).

    A definition in `rows` replaces all its old rows; definitions that are not in `order` are dropped.
    """
    place = folder / re.sub(r"[^a-z0-9.]+", "-", re.sub(r"\(\w+\)|processor|@", "", environment["processor"].lower()))
    path = place.with_name(place.name.strip("-")) / f"{time.strftime('%Y-%m-%d')}.jsonl"
    old = newest(path.parent)
    measured = {row["definition"] for row in rows}
    kept = [row for row in read(old)[1] if row["definition"] not in measured] if old else []
    position = {name: number for number, name in enumerate(order)}
    known = [row for row in [*kept, *rows] if row["definition"] in position]
    write(path, environment, sorted(known, key=lambda row: position[row["definition"]]))
    if old and old != path:
        old.unlink()
    return path


def newest(folder: Path) -> Path | None:
    """The newest record in a folder, by its name."""
    return max(folder.glob("*.jsonl"), default=None)


def all_records(folder: Path = RECORDS) -> list[Path]:
    """The records of all processors, the newest date first."""
    return sorted(folder.glob("*/*.jsonl"), key=lambda path: path.name, reverse=True)
