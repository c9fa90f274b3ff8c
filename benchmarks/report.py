"""A record as people read it: Markdown tables from the raw lines, and the section of the README made of them.

Rates are 10^6 bytes of input a second. An engine without a sound verdict gets a line instead of a number.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

RECORD = Path(__file__).with_name("record")
README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN = "<!-- speed: begin (written by `python -m benchmarks readme`; do not edit) -->"
END = "<!-- speed: end -->"
# What the README shows, where the record has it.
SHOWN = (
    ("encode-books-r50k", "encode, `r50k_base`"),
    ("encode-books-cl100k", "encode, `cl100k_base`"),
    ("train-books-32768", "train, 32,768 ids, whole command"),
    ("train-books-8192", "train, 8,192 ids, whole command"),
)

Row = dict[str, Any]


def read(record: Path) -> tuple[Row, list[Row]]:
    """(environment, rows) of a record."""
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return lines[0]["environment"], lines[1:]


def grouped(rows: list[Row]) -> dict[str, dict[str, list[Row]]]:
    """Rounds by definition and by what was compared in it: engine, text and size, threads."""
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        parts = [row["engine"]]
        parts += [f"{row['text']} {row['size']:.0e}".replace("e+0", "e")] if row["text"] else []
        parts += [f"{row['threads']} threads"] if row["threads"] > 1 else []
        found[row["definition"]][", ".join(parts)].append(row)
    return found


def markdown(environment: Row, rows: list[Row], analyses: dict[str, str]) -> str:
    """The whole record as a page."""
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    lines = [
        "# Benchmark record",
        "",
        f"{environment['processor']}, {environment['cores']} cores, {environment['memory'] / 1e9:.0f} GB, "
        f"{environment['system']}, Python {environment['python']}, commit {environment['commit']}.",
        "",
        f"{versions}.",
        "",
        "Median of the rounds, each in a fresh process, engines interleaved; best and spread (largest less smallest,",
        "as a share of the median) of the first call. MB is 10^6 bytes of input. Ratios are to the first row of the",
        "table, or of the text.",
    ]
    for name, cases in grouped(rows).items():
        lines += ["", f"## {name}", "", analyses.get(name, ""), "", *_table(cases)]
    return "\n".join(lines) + "\n"


def _table(cases: dict[str, list[Row]]) -> list[str]:
    lines = [
        "| what | first call s | MB/s | best s | spread | third call s | load s | peak MB | gives | time, ratio |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    base: dict[str, float] = {}
    for case, rounds in cases.items():
        refused = next((row["verdict"] for row in rounds if row["verdict"] != "ok"), None)
        if refused:
            lines.append(f"| {case} | not ranked: {refused} | | | | | | | | |")
            continue
        first = [row["first"] for row in rounds]
        middle = median(first)
        compared = base.setdefault(rounds[0]["text"], middle)
        cells = [
            case,
            f"{middle:.4f}",
            f"{rounds[0]['bytes'] / middle / 1e6:.1f}",
            f"{min(first):.4f}",
            f"{(max(first) - min(first)) / middle:.0%}",
            _median(rounds, "third", 1, 4),
            _median(rounds, "load", 1, 3),
            _median(rounds, "peak", 1e-6, 0),
            str(rounds[0].get("form", "")),
            f"{middle / compared:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _median(rounds: list[Row], key: str, unit: float, digits: int) -> str:
    values = [row[key] for row in rounds if key in row]
    return f"{median(values) * unit:.{digits}f}" if values else ""


def latest() -> Path | None:
    """The newest record by its name, which begins with its date."""
    return max(RECORD.glob("*.jsonl"), default=None)


def readme_section(record: Path | None) -> str:
    """The speed section of the README, without its markers."""
    if record is None:
        return "No record has been committed yet: `make bench-record` makes one, and nothing is claimed before."
    environment, rows = read(record)
    found = grouped(rows)
    engines = [
        engine for engine in ("slmtok", "gigatoken", "tokenizers", "tiktoken", "rustbpe") if _used(found, engine)
    ]
    lines = [
        f"Seconds on 65 MB of English books ({environment['processor']}, {environment['cores']} cores), median of",
        "interleaved rounds in fresh processes, first call; encoding on one thread. From the record"
        f" [{record.stem}](benchmarks/record/{record.stem}.md).",
        "",
        "| | " + " | ".join(f"{engine} {environment['versions'][engine]}" for engine in engines) + " |",
        "|---|" + "---|" * len(engines),
    ]
    for name, title in SHOWN:
        if name in found:
            lines.append(f"| {title} | " + " | ".join(_seconds(found[name], engine) for engine in engines) + " |")
    return "\n".join(lines)


def _used(found: dict[str, dict[str, list[Row]]], engine: str) -> bool:
    return any(_rounds(found.get(name, {}), engine) for name, _ in SHOWN)


def _rounds(cases: dict[str, list[Row]], engine: str) -> list[Row]:
    return next((rounds for case, rounds in cases.items() if case.split(",")[0] == engine), [])


def _seconds(cases: dict[str, list[Row]], engine: str) -> str:
    rounds = _rounds(cases, engine)
    if not rounds:
        return "-"
    if any(row["verdict"] != "ok" for row in rounds):
        return "not ranked"
    return f"{median(row['first'] for row in rounds):.2f}"


def split_readme() -> tuple[str, str, str]:
    """The README before, in and after its speed section."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN + "\n")
    section, _, after = rest.partition("\n" + END)
    return before, section, after


def write_readme() -> None:
    """Puts the newest record into the README."""
    before, _, after = split_readme()
    README.write_text(f"{before}{BEGIN}\n{readme_section(latest())}\n{END}{after}", encoding="utf-8")
