"""`python -m benchmarks`: record | smoke | compare | render | expect | left-out.

record [PART]     run the definitions whose name contains PART; write record/PROCESSOR/DATE.jsonl, which keeps the rows
                  of the other definitions, and render docs/benchmarks.md
smoke [PART]      run definitions once on a little text, print the tables, write nothing
compare OLD NEW   list every cell of two records whose ratio to the fastest peer fell by more than 10 %; status 1 if any
render            render docs/benchmarks.md from the records
expect [PART]     compute ids and merges with the reference libraries, write definitions/expected.yaml
left-out          find documents that newer Unicode tables split otherwise, write definitions/left_out.yaml
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import compare, record, report, runner
from benchmarks.definition import Definition, definitions, small
from benchmarks.expect import write_expected, write_left_out


def _run(chosen: Iterable[Definition], rounds: int) -> Iterator[dict[str, Any]]:
    for definition in chosen:
        for row in runner.run(definition, rounds):
            print(report.progress(definition, row), file=sys.stderr)
            yield row


def run_record(part: str, rounds: int) -> None:
    """Runs definitions; the record is written when all have run."""
    environment = runner.environment()
    rows = [{**row, "commit": environment["commit"]} for row in _run(definitions(part), rounds)]
    print(record.replace(environment, rows, [definition.name for definition in definitions()]))
    print(report.write_page())


def smoke(part: str) -> int:
    """Runs everything once on small texts. Nonzero if an installed engine failed."""
    rows = list(_run(map(small, definitions(part)), 1))
    print("\n".join(report.tables(rows, definitions())))
    return int(any(row["verdict"].startswith("failed") for row in rows))


def run_compare(old: Path, new: Path) -> int:
    """Prints the regressions of `new` against `old`; nonzero if there are any."""
    before, after = record.read(old)[1], record.read(new)[1]
    lines = compare.regressions(before, after)
    print("\n".join(lines) or "no cell is slower by more than 10 %")
    if added := compare.new_cells(before, after):
        print(f"{added} cells are new")
    return int(bool(lines))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("action", choices=("record", "smoke", "compare", "render", "expect", "left-out"))
    parser.add_argument("names", nargs="*", default=[], metavar="PART | OLD NEW")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.action == "compare":
        if len(options.names) != 2:
            parser.error("compare takes two records")
        return run_compare(*map(Path, options.names))
    if len(options.names) > 1:
        parser.error(f"{options.action} takes one name at most")
    part = options.names[0] if options.names else ""
    if options.action == "smoke":
        return smoke(part)
    if options.action == "record":
        run_record(part, options.rounds)
    elif options.action == "render":
        print(report.write_page())
    elif options.action == "expect":
        write_expected(part)
    else:
        write_left_out()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
