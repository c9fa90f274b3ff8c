"""A record as one HTML page that needs nothing else: plots as inline SVG, every table; no script, font or network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from benchmarks import svg
from benchmarks.cells import METRICS, OWN, Cell, by_definition
from benchmarks.report import label, machine, rate, versions

Row = dict[str, Any]

STYLE = """
:root { color-scheme: light dark; --ink: #1d2327; --dim: #6b747c; --line: #d8dde1; --paper: #fff;
  --a: #2b6cb0; --b: #dd8a1f; --c: #3b8f5a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --dim: #98a2ab; --line: #3a4249; --paper: #15191d;
  --a: #6ea8e0; --b: #f0ad5b; --c: #74c493; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 960px;
  margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem; font-size: 1.15rem; }
p.dim, .value { color: var(--dim); fill: var(--dim); }
svg { display: block; max-width: 100%; height: auto; margin: 1rem 0; }
text { font: 12px system-ui, sans-serif; fill: var(--ink); } text.value { font-size: 11px; }
rect, circle, i { opacity: .5; } .own { opacity: 1; }
.s0 { fill: var(--a); background: var(--a); } .s1 { fill: var(--b); background: var(--b); }
.s2 { fill: var(--c); background: var(--c); }
.grid { stroke: var(--line); } .grid.one { stroke: var(--ink); }
.legend span { margin-right: 1.2em; } .legend i { display: inline-block; width: .8em; height: .8em; opacity: 1;
  margin-right: .4em; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }
td, th { border-bottom: 1px solid var(--line); padding: .2em .7em; text-align: right; }
td:first-child, th:first-child { text-align: left; } tr.own { font-weight: 600; }
""".strip()


def html(name: str, environment: Row, rows: list[Row], analyses: dict[str, str]) -> str:
    """The page."""
    found = by_definition(rows)
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>slmtok benchmarks, {escape(name)}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>',
        f"<h1>slmtok benchmarks, {escape(name)}</h1>",
        f'<p class="dim">{escape(machine(environment))}.<br>{escape(versions(environment))}.</p>',
        "<p>Median of interleaved rounds, each measurement in a fresh process. An engine whose ids or merges are not "
        "those of the reference has no time. MB is 10<sup>6</sup> bytes of input.</p>",
        *_overview(found),
    ]
    for definition, cells in found.items():
        parts += [
            f'<h2 id="{escape(definition)}">{escape(definition)}</h2>',
            f"<p>{escape(analyses.get(definition, ''))}</p>",
        ]
        parts += [*_plot(cells), *_table(cells)]
    return "\n".join([*parts, "</body></html>", ""])


def _overview(found: dict[str, Sequence[Cell]]) -> list[str]:
    """slmtok against the fastest peer, for all cells that have one."""
    rows = [
        svg.Dots(str(cell.key), tuple(cell.factor(metric) for metric in METRICS))
        for cells in found.values()
        for cell in cells
        if cell.factor("first") is not None
    ]
    if not rows:
        return []
    return [
        "<h2>slmtok against the fastest peer of each cell</h2>",
        "<p>To the right of the line slmtok is faster, by so many times.</p>",
        svg.legend(list(METRICS.values())),
        svg.dots(rows, list(METRICS.values())),
    ]


def _plot(cells: Sequence[Cell]) -> list[str]:
    """Speeds of all engines that are ranked: calls a second where single calls were measured, else MB/s."""
    rows = []
    unit = "MB/s"
    for cell in cells:
        for engine, rounds in cell.engines.items():
            row = rounds[0]
            work, unit = (row["calls"] / 1e3, "k calls/s") if "calls" in row else (row.get("bytes", 0) / 1e6, unit)
            seconds = [cell.value(engine, metric) for metric in ("first", "third")]
            values = tuple(work / value if value else None for value in seconds)
            if any(values):
                rows.append(svg.Bar(label(cell, engine), values, engine == OWN))
    if not rows:
        return []
    series = ["first call", "third call"]
    return [svg.legend(series), svg.bars(rows, series, unit)]


def _table(cells: Sequence[Cell]) -> list[str]:
    head = ("what", "first call s", "rate", "third call s", "rate", "load + first s", "peak MB", "rounds")
    lines = ["<table><tr>" + "".join(f"<th>{name}</th>" for name in head) + "</tr>"]
    for cell in cells:
        for engine, rounds in cell.engines.items():
            what, refused = escape(label(cell, engine)), cell.refusal(engine)
            if refused:
                lines.append(f'<tr><td>{what}</td><td colspan="7">not ranked: {escape(refused)}</td></tr>')
                continue
            values: list[str] = []
            for metric in ("first", "third"):
                values += [_seconds(cell.value(engine, metric)), rate(cell, engine, metric)]
            values += [_seconds(cell.value(engine, "ready")), cell.peak(engine), str(len(rounds))]
            kind = ' class="own"' if engine == OWN else ""
            lines.append(f"<tr{kind}><td>{what}</td>" + "".join(f"<td>{value}</td>" for value in values) + "</tr>")
    return [*lines, "</table>"]


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
