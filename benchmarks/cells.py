"""Rows as cells: what was compared with one another, each engine's rounds together, and who was fastest.

A cell is one definition at one text, size, number of threads and form of output. Metrics are medians in seconds:
`first` and `third` call, and `ready`, which is loading and the first call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

OWN = "slmtok"
METRICS = {"first": "first call", "third": "third call", "ready": "load + first call"}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Key:
    """What tells a cell from the others."""

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
    """One cell: its key, and the rounds of each engine, in the order of the definition."""

    key: Key
    engines: dict[str, list[Row]] = field(default_factory=dict)

    def refusal(self, engine: str) -> str | None:
        """Why an engine has no time here."""
        return next((row["verdict"] for row in self.engines[engine] if row["verdict"] != "ok"), None)

    def value(self, engine: str, metric: str) -> float | None:
        """Median of the rounds; None where it is not ranked or not measured."""
        if engine not in self.engines or self.refusal(engine):
            return None
        values = [found for row in self.engines[engine] if (found := of_row(row, metric)) is not None]
        return median(values) if values else None

    def peak(self, engine: str) -> str:
        """Median of the memory in 10^6 bytes, for a table; empty where it was not measured."""
        values = [row["peak"] for row in self.engines[engine] if "peak" in row]
        return f"{median(values) / 1e6:.0f}" if values else ""

    def fastest(self, metric: str) -> tuple[str, float] | None:
        """The fastest peer that does the same work, and its time."""
        times = {
            engine: found
            for engine, rows in self.engines.items()
            if engine != OWN and not rows[0].get("alone") and (found := self.value(engine, metric)) is not None
        }
        return min(times.items(), key=lambda item: item[1]) if times else None

    def factor(self, metric: str) -> float | None:
        """How many times slmtok is as fast as the fastest peer."""
        own, other = self.value(OWN, metric), self.fastest(metric)
        return other[1] / own if own and other else None


def of_row(row: Row, metric: str) -> float | None:
    """One metric of one measurement."""
    if metric == "ready":
        return row["load"] + row["first"] if "load" in row and "first" in row else None
    return row.get(metric)


def cells(rows: Iterable[Row]) -> list[Cell]:
    """All cells of a record, in its order."""
    found: dict[Key, Cell] = {}
    for row in rows:
        key = Key(row["definition"], row["text"], row["size"], row["threads"], row.get("output", ""))
        found.setdefault(key, Cell(key)).engines.setdefault(row["engine"], []).append(row)
    return list(found.values())


def by_definition(rows: Iterable[Row]) -> dict[str, Sequence[Cell]]:
    """The cells of each definition."""
    found: dict[str, list[Cell]] = {}
    for cell in cells(rows):
        found.setdefault(cell.key.definition, []).append(cell)
    return dict(found)
