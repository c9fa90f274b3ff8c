"""Two kinds of plots as SVG text, without a library: bars of speeds, and dots of ratios on a logarithmic axis.

Colours come from the page's style sheet, by class. Sizes are in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

LABELS, WIDTH, ROW, BAR = 320, 860, 20, 13


class Bar(NamedTuple):
    """One engine: its speeds in the order of the series, None where there is none."""

    label: str
    values: tuple[float | None, ...]
    own: bool = False


class Dots(NamedTuple):
    """One cell: its ratios in the order of the series."""

    label: str
    values: tuple[float | None, ...]


def bars(rows: Sequence[Bar], series: Sequence[str], unit: str) -> str:
    """Speeds as bars that begin at 0, one group a row."""
    most = max((value for row in rows for value in row.values if value is not None), default=0) or 1.0
    height = len(series) * BAR + 8
    parts: list[str] = []
    for number, row in enumerate(rows):
        top = number * height
        parts.append(_text(LABELS - 8, top + height / 2, row.label, "end"))
        for place, value in enumerate(row.values):
            if value is None:
                continue
            width = max(value / most * (WIDTH - LABELS - 90), 1)
            kind = f"s{place}{' own' if row.own else ''}"
            y = top + 4 + place * BAR
            parts.append(f'<rect class="{kind}" x="{LABELS}" y="{y}" width="{width:.1f}" height="{BAR - 2}"/>')
            parts.append(_text(LABELS + width + 4, y + BAR / 2 - 0.5, f"{value:.4g} {unit}", "start", "value"))
    return _svg(len(rows) * height, parts)


def dots(rows: Sequence[Dots], series: Sequence[str]) -> str:
    """Ratios as dots; the line is at 1, where both are as fast."""
    values = [value for row in rows for value in row.values if value]
    low, high = min([0.5, *values]), max([4.0, *values])
    span = math.log(high / low)

    def x(value: float) -> float:
        return LABELS + 10 + math.log(value / low) / span * (WIDTH - LABELS - 40)

    height = len(rows) * ROW + 24
    ticks = [tick for tick in (0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50) if low <= tick <= high]
    parts = [_tick(x(tick), height - 20, one=tick == 1) for tick in ticks]
    parts += [_text(x(tick), height - 10, f"{tick:g}x", "middle", "value") for tick in ticks]
    for number, row in enumerate(rows):
        middle = number * ROW + ROW / 2
        parts.append(_text(LABELS - 8, middle, row.label, "end"))
        for place, value in enumerate(row.values):
            if value:
                title = f"<title>{escape(row.label)}, {escape(series[place])}: {value:.2f}x</title>"
                parts.append(f'<circle class="s{place} own" cx="{x(value):.1f}" cy="{middle}" r="4">{title}</circle>')
    return _svg(height, parts)


def legend(series: Sequence[str]) -> str:
    """What the colours mean."""
    items = (f'<span><i class="s{place}"></i>{escape(name)}</span>' for place, name in enumerate(series))
    return f'<p class="legend">{" ".join(items)}</p>'


def _tick(x: float, bottom: float, *, one: bool) -> str:
    return f'<line class="grid{" one" if one else ""}" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "label") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="middle"'
    return f'<text class="{kind}" {place}>{escape(text)}</text>'


def _svg(height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" role="img">\n{body}\n</svg>'
