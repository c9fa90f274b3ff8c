"""Tables with a column for each tokenizer: names on the left, numbers to the right of their columns."""

from __future__ import annotations

from collections.abc import Sequence

from slmtok.cli._output import printable


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table; a row of one cell is a heading."""
    cells = [[printable(cell) for cell in row] for row in [head, *rows]]
    whole = [row for row in cells if len(row) > 1]
    widths = [max(len(row[index]) for row in whole) for index in range(len(head))]
    lines = []
    for row in cells:
        if len(row) == 1:
            lines.append(row[0])
            continue
        first, *rest = row
        numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        lines.append(f"  {first:<{widths[0]}}  {numbers}".rstrip())
    return "\n".join(lines) + "\n"
