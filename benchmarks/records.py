"""Records: dated files of raw lines. The first line says where and with what; every other is one measurement."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("record")

Row = dict[str, Any]


def read(record: Path) -> tuple[Row, list[Row]]:
    """(environment, rows) of a record."""
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return lines[0]["environment"], lines[1:]


def write(record: Path, environment: Row, rows: Sequence[Row]) -> None:
    """Writes a record whole."""
    record.parent.mkdir(exist_ok=True)
    lines = "".join(json.dumps(line) + "\n" for line in [{"environment": environment}, *rows])
    partial = record.with_name(record.name + ".new")
    partial.write_text(lines, encoding="utf-8")
    partial.replace(record)


def merged(old: Sequence[Row], new: Sequence[Row], order: Sequence[str]) -> list[Row]:
    """The old rows with every definition replaced that was run anew, in the order of the definitions' names.

    Definitions that are not in `order` any more go.
    """
    anew = {row["definition"] for row in new}
    kept = [row for row in old if row["definition"] not in anew]
    place = {name: number for number, name in enumerate(order)}
    rows = [row for row in [*kept, *new] if row["definition"] in place]
    return sorted(rows, key=lambda row: place[row["definition"]])


def latest() -> Path | None:
    """The newest record by its name, which begins with its date."""
    return max(RECORD.glob("*.jsonl"), default=None)


def new(name: str) -> Path:
    """The file of a record that is made today. Raises FileExistsError: what was measured is not lost by accident."""
    path = RECORD / f"{time.strftime('%Y-%m-%d')}-{name}.jsonl"
    if path.exists():
        raise FileExistsError(f"{path.stem} is there: another --name, or --into {path.stem} for a part of it")
    return path


def find(name: str) -> Path:
    """A record by its path, or by its name without folder and suffix. Raises FileNotFoundError."""
    for path in (Path(name), RECORD / f"{name}.jsonl"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"no record {name!r}; those of {RECORD.name}/ go by their names, without .jsonl")
