"""The plots: one text file each beside this module, compiled on first use; `plots()` is the registry.

A file begins with `bind VAR KIND` lines (what a variable stands for) and `frame VAR field ...` blocks (rows whose
cells, separated by " / ", belong together: a cause and its effect). Then come the beats: a line `*` opens one, `*? 0.4`
one that is told with that probability, and every following line is an alternative.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from slmtok.stories.grammar import resolve
from slmtok.stories.lexicon import data_files
from slmtok.stories.template import TemplateError, compile_template

if TYPE_CHECKING:
    from slmtok.stories.template import Node


@dataclass(frozen=True)
class Beat:
    """A step of a plot: alternatives of which one is told, with probability `chance`."""

    chance: float
    lines: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Plot:
    """A plot skeleton: the kinds of its variables, its frames and its beats in order."""

    name: str
    kinds: dict[str, str] = field(default_factory=dict)
    frames: dict[str, list[dict[str, Node]]] = field(default_factory=dict)
    beats: list[Beat] = field(default_factory=list)


@lru_cache(maxsize=1)
def plots() -> dict[str, Plot]:
    """Return all plots by name, in the order of their names."""
    return {name: parse_plot(name, text) for name, text in data_files(__name__)}


def parse_plot(name: str, text: str) -> Plot:
    """Compile the text of a plot file; raises TemplateError for a line that does not fit the format."""
    plot = Plot(name)
    columns: tuple[str, tuple[str, ...]] | None = None
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("#"):
            continue
        if line.startswith("*"):
            plot.beats.append(Beat(float(line[2:]) if line.startswith("*?") else 1.0))
        elif plot.beats:
            plot.beats[-1].lines.append(compile_template(line, resolve))
        elif line.startswith("bind "):
            _, variable, kind = line.split()
            plot.kinds[variable] = kind
        elif line.startswith("frame "):
            _, variable, *fields = line.split()
            columns = (variable, tuple(fields))
            plot.frames[variable] = []
        elif columns is not None:
            plot.frames[columns[0]].append(_row(name, columns[1], line))
        else:
            raise TemplateError(f"plot {name!r}: line {line!r} stands before the first beat")
    return plot


def _row(name: str, fields: tuple[str, ...], line: str) -> dict[str, Node]:
    cells = [cell.strip() for cell in line.split(" / ")]
    if len(cells) != len(fields):
        raise TemplateError(f"plot {name!r}: row {line!r} has {len(cells)} cells, the frame has {len(fields)}")
    return {key: compile_template(cell, resolve) for key, cell in zip(fields, cells, strict=True)}
