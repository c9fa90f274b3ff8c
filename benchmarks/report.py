"""`docs/benchmarks.md`, rendered from the records: one section a processor, one table a family of definitions.

Peers are shown as multiples of slmtok's time in the same cell; an engine without a valid verdict gets no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.definition import Definition, definitions
from benchmarks.record import OWN, Cell, Row, all_records, cells, read

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
INTRODUCTION = """\
# Benchmarks

<!-- Rendered from benchmarks/record by `python -m benchmarks render`; do not edit. -->

slmtok against other tokenizers, from the newest full run on each processor. How it is measured, and what each peer
takes: [benchmarks](../benchmarks/README.md). To compare on your own text: [`slmtok bench`](guide/benchmarks.md).

* Times are medians of interleaved rounds, each measurement in a fresh process; *spread* is the range of slmtok's first
  call as a share of its median, *peak* the memory that loading and the first call add.
* A peer's numbers are its first and its third call as multiples of slmtok's: `1.50 / 2.30` took 1.5 and 2.3 times as
  long.
* An engine whose ids or merges differ from the reference has no time (`other ids`); `-` was not measured."""


def page(records: Sequence[Path]) -> str:
    """The whole page."""
    known = definitions()
    return "\n".join([INTRODUCTION, *(line for path in records for line in _section(path, known))]) + "\n"


def write_page() -> Path:
    """Renders the committed records."""
    PAGE.write_text(page(all_records()), encoding="utf-8")
    return PAGE


def tables(rows: Sequence[Row], known: Sequence[Definition]) -> Iterable[str]:
    """The tables of all families, as lines."""
    grouped: dict[str, list[Cell]] = {}
    family = {definition.name: definition.family for definition in known}
    for cell in cells(rows):
        if cell.key.definition in family:
            grouped.setdefault(family[cell.key.definition], []).append(cell)
    for name, found in grouped.items():
        analyses = dict.fromkeys(definition.analysis for definition in known if definition.family == name)
        yield from ("", f"### {name}", "", *(f"* {analysis}" for analysis in analyses), "")
        if name == "hostile":
            yield from _hostile(found)
        elif name == "scaling":
            yield from _scaling(found)
        else:
            yield from _family(found)


def _section(record: Path, known: Sequence[Definition]) -> Iterable[str]:
    environment, rows = read(record)
    commits = sorted({row["commit"] for row in rows})
    present = [f"{name} {version}" for name, version in environment["versions"].items() if version != "absent"]
    yield from ("", f"## {environment['processor']}, {record.stem}", "")
    yield (
        f"{environment['cores']} cores, {environment['memory'] / 1e9:.0f} GB, huge pages {environment['huge_pages']}, "
        f"{environment['system']}, Python {environment['python']}; commits {', '.join(commits)}."
    )
    yield f"{', '.join(present)}."
    yield from tables(rows, known)


def _family(found: Sequence[Cell]) -> Iterable[str]:
    peers = list(dict.fromkeys(engine for cell in found for engine in cell.engines if engine != OWN))
    calls = any("calls" in row for cell in found for row in cell.engines[OWN])
    unit = "ns a call" if calls else "s"
    has_third = any(cell.value(OWN, "third") is not None for cell in found)
    third = [f"third {unit}"] if has_third else []
    yield from _header("", f"first {unit}", *third, "MB/s", "spread", "peak MB", *peers)
    for cell in found:
        rounds = cell.engines[OWN]
        first = [row["first"] for row in rounds]
        scale = 1e9 / rounds[0]["calls"] if calls else 1
        values = [_number(cell.value(OWN, metric), scale) for metric in ("first", *(["third"] if has_third else []))]
        yield _line(
            str(cell.key),
            *values,
            f"{rounds[0]['bytes'] / median(first) / 1e6:.1f}",
            f"{(max(first) - min(first)) / median(first):.0%}",
            f"{median(row['peak'] for row in rounds) / 1e6:.0f}",
            *(_peer(cell, peer) for peer in peers),
        )


def _peer(cell: Cell, engine: str) -> str:
    if engine not in cell.engines:
        return "-"
    if refused := cell.refusal(engine):
        return refused.partition(" than ")[0] if refused.startswith("other") else refused.partition(":")[0]
    ratios = []
    for metric in ("first", "third"):
        own, other = cell.value(OWN, metric), cell.value(engine, metric)
        if own and other:
            ratios.append(f"{other / own:.2f}")
    algorithm = " (other algorithm)" if cell.engines[engine][0].get("alone") else ""
    return " / ".join(ratios) + algorithm


def _hostile(found: Sequence[Cell]) -> Iterable[str]:
    """Seconds, and the growth relative to the smallest size of the same text."""
    smallest: dict[tuple[str, str], Cell] = {}
    yield from _header("", "s", "MB/s", "times the smallest size")
    for cell in found:
        base = smallest.setdefault((cell.key.definition, cell.key.text), cell)
        time, base_time = cell.value(OWN, "first"), base.value(OWN, "first")
        if time is None or base_time is None:
            yield _line(str(cell.key), cell.refusal(OWN) or "", "", "")
            continue
        rate = cell.engines[OWN][0]["bytes"] / time / 1e6
        yield _line(str(cell.key), _number(time), f"{rate:.1f}", f"{time / base_time:.1f}")


def _scaling(found: Sequence[Cell]) -> Iterable[str]:
    """Seconds, and the gain of two threads over one."""
    single = {replace(cell.key, threads=2): cell for cell in found if cell.key.threads == 1}
    yield from _header("", "first s", "third s", "gain, first", "gain, third")
    for cell in found:
        for engine in cell.engines:
            values = [cell.value(engine, metric) for metric in ("first", "third")]
            base = single.get(cell.key)
            ones = [base.value(engine, metric) if base else None for metric in ("first", "third")]
            gains = [f"{one / two:.2f}" if one and two else "" for one, two in zip(ones, values, strict=True)]
            yield _line(f"{cell.key}" + (f", {engine}" if engine != OWN else ""), *map(_number, values), *gains)


def _number(value: float | None, scale: float = 1) -> str:
    if value is None:
        return ""
    return f"{value * scale:.0f}" if value * scale >= 100 else f"{value * scale:.3g}"


def _header(*names: str) -> Iterable[str]:
    yield _line(*names)
    yield "|---" * len(names) + "|"


def _line(*values: str) -> str:
    return f"| {' | '.join(values)} |"


def progress(definition: Definition, row: Mapping[str, object]) -> str:
    """One measurement as a line for a terminal."""
    seconds = f"{row['first']:.4f} s" if "first" in row else ""
    job = f"{row['engine']} {row['output']} {row['text']} {row['size'] or ''} x{row['threads']}"
    return f"{definition.name:32} round {row['round']} {job:28} {seconds:12} {row['verdict']}"
