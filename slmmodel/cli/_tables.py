"""Two-column summaries: labels dim on a terminal, plain and aligned everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from slmmodel.cli._output import colour, printable

Row = tuple[str, str]


def print_rows(rows: Iterable[Row], *, title: str = "", stream: TextIO | None = None) -> None:
    """Prints label and value, one pair a line; a value may have several lines. Empty values are left out."""
    stream = stream or sys.stdout
    listed = [(label, printable(value)) for label, value in rows if value]
    width = max((len(label) for label, _ in listed), default=0)
    dim, bold, off = ("\x1b[2m", "\x1b[1m", "\x1b[0m") if colour(stream) else ("", "", "")
    if title:
        stream.write(f"{bold}{printable(title)}{off}\n")
    for label, value in listed:
        first, *rest = value.split("\n")
        stream.write(f"  {dim}{label:<{width}}{off}  {first}\n")
        stream.writelines(f"  {'':<{width}}  {line}\n" for line in rest)
    stream.flush()
