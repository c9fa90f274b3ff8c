"""Charts as SVG for pages: matplotlib draws them, the page colours them, so that they follow its theme."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmtok.errors import missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCHES = (5.2, 3.4)
"""Small enough for its text to be read on a phone."""
N_COLOURS = 6
MANY = 10_000
"""From here up an axis counts in k, M, G, T."""
MAX_LABEL = 60
"""Characters of a name; a longer one would leave no room for the curves."""
MAX_LEGEND = 12
"""Lines of a legend; a longer one would cover the chart."""
_INK, _LINE, _SERIES = "#010101", "#020202", "#0300{:02d}"
"""Colours that stand for those of the page: `currentColor`, `--line`, `--series-N`."""
_STYLES = ("-", "--", "-.", ":")
_MARKERS = "osD^vX"
_RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "slmtok",
    "font.family": "sans-serif",
    "font.size": 11,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "text.parse_math": False,
}


@dataclass(frozen=True)
class Line:
    """Points under a name; lines of one name share a place in the legend.

    colour: the number of its colour; marked: with a marker at each point.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 0
    marked: bool = False


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval, as one row of a forest plot."""

    name: str
    low: float
    middle: float
    high: float


def chart_label(name: str) -> str:
    """A name as a chart has it: without the middle of a long one, and with a space for a tab and the like."""
    if len(name) > MAX_LABEL:
        half = MAX_LABEL // 2
        name = f"{name[:half]}…{name[1 - half :]}"
    return "".join(letter if letter.isprintable() else " " for letter in name)


@contextmanager
def any_letters() -> Iterator[None]:
    """Lets names have letters that the font of matplotlib lacks: it draws boxes, which need no warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def line_chart(lines: Sequence[Line], *, x: str, y: str, log_x: bool = False, ticks: Sequence[float] = ()) -> str:
    """SVG of lines over one pair of axes. x, y: labels; ticks: those of a logarithmic x. Raises `MissingExtra`."""

    def draw(axes: Axes) -> None:
        for line in lines:
            style: dict[str, Any] = {"linestyle": _STYLES[line.colour % len(_STYLES)]}
            if line.marked:
                style |= {"marker": _MARKERS[line.colour % len(_MARKERS)], "markersize": 4}
            colour = _SERIES.format(line.colour % N_COLOURS)
            axes.plot(line.x, line.y, label=chart_label(line.name), color=colour, linewidth=1.6, **style)
        if log_x:
            axes.set_xscale("log", base=2)
        if ticks:
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axes.minorticks_off()
        elif max((value for line in lines for value in line.x), default=0) >= MANY:
            from matplotlib.ticker import EngFormatter, MaxNLocator

            axes.xaxis.set_major_locator(MaxNLocator(6))
            axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
        axes.set(xlabel=x, ylabel=y)
        axes.grid(linewidth=0.6)
        named = {line.name: handle for line, handle in zip(lines, axes.lines, strict=True)}
        if len(named) > MAX_LEGEND:
            axes.set_title(f"{len(named)} lines, too many for a legend", fontsize=9)
        elif len(named) > 1:
            axes.legend(named.values(), map(chart_label, named), fontsize=9)

    return _svg(draw, INCHES)


def forest_plot(intervals: Sequence[Interval], *, x: str, margin: float = 0.0) -> str:
    """SVG of intervals, one a row from above, with a line at 0 and dotted ones at the margin. Raises `MissingExtra`."""

    def draw(axes: Axes) -> None:
        axes.axvline(0.0, color=_INK, linewidth=0.8)
        for side in (-margin, margin) if margin else ():
            axes.axvline(side, color=_INK, linewidth=0.8, linestyle=":")
        for row, one in enumerate(intervals):
            axes.plot([one.low, one.high], [row, row], color=_SERIES.format(0), linewidth=2, marker="|", markersize=9)
            axes.plot([one.middle], [row], color=_SERIES.format(0), marker="D", markersize=5)
        axes.set_yticks(range(len(intervals)), [chart_label(one.name) for one in intervals])
        axes.set_ylim(len(intervals) - 0.5, -0.5)
        axes.set_xlabel(x)
        axes.grid(axis="x", linewidth=0.6)

    return _svg(draw, (INCHES[0], 1.1 + 0.42 * len(intervals)))


def _svg(draw: Any, inches: tuple[float, float]) -> str:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("a chart", "matplotlib") from None
    with mpl.rc_context(_RC), any_letters():
        figure = Figure(figsize=inches, layout="constrained")
        draw(figure.subplots())
        found = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(found, format="svg", metadata=nothing, transparent=True)
    return _themed(found.getvalue())


def _themed(svg: str) -> str:
    """The element `svg` alone, in the colours of the page, without the ids of groups, which charts would share."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r"#0300(\d\d)", lambda found: f"var(--series-{int(found[1])})", svg)
    return svg.replace(_INK, "currentColor").replace(_LINE, "var(--line)")
