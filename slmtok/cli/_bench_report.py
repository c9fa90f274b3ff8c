"""How `slmtok bench` tells what it found: a table of times and ratios, or where ids part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slmtok.cli._numbers import grouped, in_bytes

if TYPE_CHECKING:
    from slmtok.bench.comparison import Comparison

_HEAD = ("", "load", "first call", "", "third call", "", "memory", "gives", "first", "third")


def table(result: Mapping[str, Any], found: Comparison) -> list[str]:
    """One line an engine; ratios are times against slmtok's, so that 2.0x took twice as long."""
    text, machine = result["text"], result["machine"]
    documents = f"{grouped(text['documents'])} document{'s' if text['documents'] != 1 else ''}"
    cells = [_HEAD, *map(_cells, found.rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEAD))]
    lines = [
        f"{in_bytes(text['bytes'])} in {documents}, {grouped(found.tokens)} ids, "
        f"the same from all (sha256 {found.sha256[:12]})",
        f"{machine['processor']}, {machine['cores']} cores; threads: {result['threads'] or 'all'}; "
        f"median of {result['rounds']} rounds",
        "",
    ]
    for row in cells:
        aligned = [
            f"{cell:<{width}}" if column in (0, 7) else f"{cell:>{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(aligned).rstrip())
    return lines


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"{row['engine']} {row['version']}",
        f"{row['load']:.3f} s",
        f"{row['first']:.4f} s",
        f"{row['mb_per_s_first']:.1f} MB/s",
        f"{row['third']:.4f} s",
        f"{row['mb_per_s_third']:.1f} MB/s",
        in_bytes(row["peak"]),
        row["gives"],
        f"{row['ratio_first']:.2f}x",
        f"{row['ratio_third']:.2f}x",
    )


def differences(found: Comparison) -> list[str]:
    """One line an engine whose ids are not slmtok's."""
    from slmtok.bench.comparison import describe_difference

    lines = ["ids differ, so there are no times"]
    for engine, difference in found.differences.items():
        lines.append(f"  {engine}, {grouped(difference['tokens'])} ids: {describe_difference(difference)}")
    return [*lines, f"  slmtok, {grouped(found.tokens)} ids"]
