"""`python -m benchmarks`: record | smoke | compare | html | markdown | expect | left-out | readme.

record [PART]     run the definitions whose name contains PART, write record/DATE-NAME.{jsonl,md,html}, renew the
                  README; with --into RECORD put what was run into that record, in the place of what it had
smoke [PART]      run definitions once on a little text, print the tables, write nothing
compare OLD NEW   every cell whose ratio to the fastest peer fell by more than a tenth; status 1 if there is one
html RECORD       the record as one page with plots, beside it (or -o FILE)
markdown RECORD   the record as tables, beside it
expect [PART]     ask the references for ids and merges, write definitions/expected.yaml
left-out          look for documents that newer Unicode tables split otherwise, write definitions/left_out.yaml
readme            put the newest record into the README
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import guard, page, records, report, runner
from benchmarks.definition import Definition, definitions, small
from benchmarks.expect import expect, write_left_out


def _progress(definition: Definition, rounds: int) -> Iterator[dict[str, Any]]:
    for row in runner.run(definition, rounds):
        seconds = f"{row['first']:.4f} s" if "first" in row else ""
        what = f"{row['engine']} {row['output']} {row['text']} {row['size'] or ''} x{row['threads']}"
        print(f"{definition.name:32} round {row['round']} {what:28} {seconds:12} {row['verdict']}", file=sys.stderr)
        yield row


def record(part: str, rounds: int, name: str, into: str) -> None:
    """Runs and writes; the record appears when all has run."""
    path = records.find(into) if into else records.new(name)
    environment = runner.environment()
    rows = [
        {**row, "commit": environment["commit"]}
        for definition in definitions(part)
        for row in _progress(definition, rounds)
    ]
    if into:
        _, old = records.read(path)
        rows = records.merged(old, rows, [definition.name for definition in definitions()])
    records.write(path, environment, rows)
    _write_pages(path)
    report.write_readme()
    print(path)


def _write_pages(path: Path) -> None:
    environment, rows = records.read(path)
    path.with_suffix(".md").write_text(report.markdown(environment, rows, _analyses()), encoding="utf-8")
    path.with_suffix(".html").write_text(page.html(path.stem, environment, rows, _analyses()), encoding="utf-8")


def _analyses() -> dict[str, str]:
    return {definition.name: definition.analysis for definition in definitions()}


def smoke(part: str) -> int:
    """Everything once, small. Nonzero where an engine that is installed failed."""
    rows = [row for definition in map(small, definitions(part)) for row in _progress(definition, 1)]
    print(report.markdown(runner.environment(), rows, {}))
    return int(any(row["verdict"].startswith("failed") for row in rows))


def compare(old: str, new: str) -> int:
    """The guard between records."""
    before, now = (records.read(records.find(name))[1] for name in (old, new))
    lines = guard.worse(before, now)
    print("\n".join(lines) or "no cell got worse by more than a tenth")
    if fresh := guard.fresh(before, now):
        print(f"{fresh} cells were not measured before")
    return int(bool(lines))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, add_help=True)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    actions = ("record", "smoke", "compare", "html", "markdown", "expect", "left-out", "readme")
    parser.add_argument("action", choices=actions)
    parser.add_argument("names", nargs="*", default=[], metavar="PART | RECORD | OLD NEW")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--name", default="main", help="what the record is called")
    parser.add_argument("--into", default="", metavar="RECORD", help="put what was run into this record")
    parser.add_argument("-o", "--output", default="", metavar="FILE")
    chosen = parser.parse_args()
    few, many = {"compare": (2, 2), "html": (1, 1), "markdown": (1, 1)}.get(chosen.action, (0, 1))
    if not few <= len(chosen.names) <= many:
        parser.error(f"{chosen.action} takes {few if few == many else f'{few} or {many}'} names")
    try:
        return _do(chosen, [*chosen.names, ""])
    except (FileNotFoundError, FileExistsError) as error:
        parser.error(str(error))


def _do(chosen: argparse.Namespace, names: list[str]) -> int:
    if chosen.action == "smoke":
        return smoke(names[0])
    if chosen.action == "compare":
        return compare(names[0], names[1])
    if chosen.action == "record":
        record(names[0], chosen.rounds, chosen.name, chosen.into)
    elif chosen.action in ("html", "markdown"):
        path = records.find(names[0])
        environment, rows = records.read(path)
        suffix = ".html" if chosen.action == "html" else ".md"
        text = (
            page.html(path.stem, environment, rows, _analyses())
            if suffix == ".html"
            else report.markdown(environment, rows, _analyses())
        )
        Path(chosen.output or path.with_suffix(suffix)).write_text(text, encoding="utf-8")
    elif chosen.action == "expect":
        expect(names[0])
    elif chosen.action == "left-out":
        write_left_out()
    else:
        report.write_readme()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
