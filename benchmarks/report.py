"""A record as people read it: Markdown tables from the raw lines, and the section of the README made of them.

Rates are 10^6 bytes of input a second. An engine without a sound verdict gets a line instead of a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cells import METRICS, OWN, Cell, by_definition
from benchmarks.records import latest, read

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN = "<!-- speed: begin (written by `python -m benchmarks readme`; do not edit) -->"
END = "<!-- speed: end -->"
# What the README shows, where the record has it: definition, title, metric, unit.
SHOWN = (
    ("encode-books-r50k", "encode, `r50k_base`, first call", "first"),
    ("encode-books-cl100k", "encode, `cl100k_base`, first call", "first"),
    ("encode-books-o200k", "encode, `o200k_base`, first call", "first"),
    ("encode-books-cl100k", "encode, `cl100k_base`, third call", "third"),
    ("train-books-32768", "train, 32,768 ids, whole command", "first"),
    ("train-books-8192", "train, 8,192 ids, whole command", "first"),
)

Row = dict[str, Any]


def markdown(environment: Row, rows: list[Row], analyses: dict[str, str]) -> str:
    """The whole record as a page."""
    lines = [
        "# Benchmark record",
        "",
        f"{machine(environment)}.",
        "",
        f"{versions(environment)}.",
        "",
        "Median of the rounds, each in a fresh process, engines interleaved; best and spread (largest less smallest,",
        "as a share of the median) of the first call. MB is 10^6 bytes of input; ns are for one call. Ratios are times",
        "against slmtok's in the same cell; where it is alone, against the first row of the same text.",
    ]
    for name, found in by_definition(rows).items():
        lines += ["", f"## {name}", "", analyses.get(name, "")]
        commits = {
            row["commit"] for cell in found for rounds in cell.engines.values() for row in rounds if "commit" in row
        }
        if commits - {environment["commit"]}:
            lines += ["", f"Measured at commit {', '.join(sorted(commits))}."]
        lines += ["", *_table(found), *_factors(found)]
    return "\n".join(lines) + "\n"


def machine(environment: Row) -> str:
    """Where it was measured."""
    pages = f", huge pages {environment['huge_pages']}" if "huge_pages" in environment else ""
    return (
        f"{environment['processor']}, {environment['cores']} cores, {environment['memory'] / 1e9:.0f} GB{pages}, "
        f"{environment['system']}, Python {environment['python']}, commit {environment['commit']}"
    )


def versions(environment: Row) -> str:
    """What was measured."""
    present = {name: version for name, version in environment["versions"].items() if version != "absent"}
    return ", ".join(f"{name} {version}" for name, version in present.items())


def _table(found: Sequence[Cell]) -> list[str]:
    unit = "ns" if _calls(found[0]) else "MB/s"
    lines = [
        f"| what | first call s | {unit} | best s | spread | third call s | {unit} | load + first s | peak MB | gives "
        "| rounds | first, ratio | third, ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    alone: dict[str, Cell] = {}
    for cell in found:
        base = cell if len(cell.engines) > 1 else alone.setdefault(cell.key.text, cell)
        for engine in cell.engines:
            refused = cell.refusal(engine)
            what = label(cell, engine)
            lines.append(
                f"| {what} | not ranked: {refused} |" + " |" * 11 if refused else _line(what, cell, engine, base)
            )
    return lines


def _line(what: str, cell: Cell, engine: str, base: Cell) -> str:
    rounds = cell.engines[engine]
    first = [row["first"] for row in rounds]
    best = next(iter(base.engines)) if OWN not in base.engines else OWN
    parts = [what]
    for metric in ("first", "third"):
        parts += [_seconds(cell.value(engine, metric)), rate(cell, engine, metric)]
        parts += [f"{min(first):.4f}", f"{(max(first) - min(first)) / median(first):.0%}"] if metric == "first" else []
    parts += [_seconds(cell.value(engine, "ready"), 3), cell.peak(engine)]
    parts += ["other algorithm" if rounds[0].get("alone") else str(rounds[0].get("form", "")), str(len(rounds))]
    for metric in ("first", "third"):
        own, other = cell.value(engine, metric), base.value(best, metric)
        parts.append(f"{own / other:.2f}" if own is not None and other else "")
    return "| " + " | ".join(parts) + " |"


def label(cell: Cell, engine: str) -> str:
    """An engine in its cell, without the name of the definition."""
    rest = str(cell.key).split(", ")[1:]
    return ", ".join([engine, *rest])


def rate(cell: Cell, engine: str, metric: str) -> str:
    """10^6 bytes a second, or the nanoseconds of one call."""
    seconds, row = cell.value(engine, metric), cell.engines[engine][0]
    if seconds is None:
        return ""
    return f"{seconds / row['calls'] * 1e9:.0f}" if "calls" in row else f"{row['bytes'] / seconds / 1e6:.1f}"


def _calls(cell: Cell) -> bool:
    return any("calls" in row for rounds in cell.engines.values() for row in rounds)


def _seconds(value: float | None, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _factors(found: Sequence[Cell]) -> list[str]:
    """slmtok against the fastest peer of each cell."""
    lines = []
    for cell in found:
        parts = []
        for metric, title in METRICS.items():
            factor, fastest = cell.factor(metric), cell.fastest(metric)
            if factor is not None and fastest is not None:
                parts.append(f"{title} {factor:.2f}x {fastest[0]}")
        if parts:
            rest = str(cell.key).split(", ")[1:]
            lines.append(
                f"* slmtok against the fastest peer{', ' if rest else ''}{', '.join(rest)}: {'; '.join(parts)}"
            )
    lines += [f"* {line}" for line in _scaling(found)]
    return ["", *lines] if lines else []


def _scaling(found: Sequence[Cell]) -> list[str]:
    """What two threads gain over one, for each engine that was measured with both."""
    single = {replace(cell.key, threads=2): cell for cell in found if cell.key.threads == 1}
    lines = []
    for cell in found:
        one = single.get(cell.key)
        for engine in cell.engines if one else ():
            gains = [
                f"{METRICS[metric]} {before / after:.2f}x"
                for metric in ("first", "third")
                if one and (before := one.value(engine, metric)) and (after := cell.value(engine, metric))
            ]
            lines += [f"two threads over one, {engine}: {'; '.join(gains)}"] if gains else []
    return lines


def readme_section(record: Path | None) -> str:
    """The speed section of the README, without its markers."""
    if record is None:
        return "No record has been committed yet: `make bench-record` makes one, and nothing is claimed before."
    environment, rows = read(record)
    found = {name: cells[0] for name, cells in by_definition(rows).items()}
    engines = [
        engine
        for engine in environment["versions"]
        if any(engine in found[name].engines for name, _, _ in SHOWN if name in found)
    ]
    lines = [
        f"Seconds on 65 MB of English books ({environment['processor']}, {environment['cores']} cores), median of",
        "interleaved rounds in fresh processes; encoding on one thread. From the record"
        f" [{record.stem}](benchmarks/record/{record.stem}.md).",
        "",
        "| | " + " | ".join(f"{engine} {environment['versions'][engine]}" for engine in engines) + " |",
        "|---|" + "---|" * len(engines),
    ]
    for name, title, metric in SHOWN:
        if name in found:
            lines.append(f"| {title} | " + " | ".join(_shown(found[name], engine, metric) for engine in engines) + " |")
    return "\n".join(lines)


def _shown(cell: Cell, engine: str, metric: str) -> str:
    if engine not in cell.engines:
        return "-"
    value = cell.value(engine, metric)
    return "not ranked" if value is None else f"{value:.2f}"


def split_readme() -> tuple[str, str, str]:
    """The README before, in and after its speed section."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN + "\n")
    section, _, after = rest.partition("\n" + END)
    return before, section, after


def write_readme() -> None:
    """Puts the newest record into the README."""
    before, _, after = split_readme()
    README.write_text(f"{before}{BEGIN}\n{readme_section(latest())}\n{END}{after}", encoding="utf-8")
