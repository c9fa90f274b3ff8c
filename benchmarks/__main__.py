"""`python -m benchmarks`: record | smoke | expect | readme.

record [PART]  run the definitions whose name contains PART, write record/DATE-NAME.{jsonl,md}, renew the README
smoke          run every definition once on a little text, print the tables, write nothing
expect         ask the references for ids and merges, write definitions/expected.yaml
readme         put the newest record into the README
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterable
from typing import Any

from benchmarks import corpora, report, runner
from benchmarks.definition import EXPECTED, Definition, definitions, small
from benchmarks.engines import engine
from benchmarks.worker import described


def _progress(definition: Definition, rounds: int) -> Iterable[dict[str, Any]]:
    for row in runner.run(definition, rounds):
        seconds = f"{row['first']:.4f} s" if "first" in row else ""
        what = f"{row['engine']} {row['text']} {row['size'] or ''} x{row['threads']}"
        print(f"{definition.name:32} round {row['round']} {what:28} {seconds:12} {row['verdict']}", file=sys.stderr)
        yield row


def record(part: str, rounds: int, name: str) -> None:
    """Runs and writes; the record appears when all has run."""
    environment = runner.environment()
    chosen = definitions(part)
    rows = [row for definition in chosen for row in _progress(definition, rounds)]
    report.RECORD.mkdir(exist_ok=True)
    path = report.RECORD / f"{time.strftime('%Y-%m-%d')}-{name}.jsonl"
    lines = [{"environment": environment}, *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    analyses = {definition.name: definition.analysis for definition in chosen}
    path.with_suffix(".md").write_text(report.markdown(environment, rows, analyses), encoding="utf-8")
    report.write_readme()
    print(path)


def smoke(part: str) -> int:
    """Everything once, small. Nonzero where an engine that is installed failed."""
    chosen = [small(definition) for definition in definitions(part)]
    rows = [row for definition in chosen for row in _progress(definition, 1)]
    print(report.markdown(runner.environment(), rows, {}))
    return int(any(row["verdict"].startswith("failed") for row in rows))


def expect() -> None:
    """tiktoken's ids of each text and encoding; rustbpe's and tokenizers' merges of each training."""
    lines = [
        "# Written by `python -m benchmarks expect`: tiktoken's ids for each corpus, limit, piece and encoding;",
        "# the merges of rustbpe (ties rank) and tokenizers (ties hf) for each corpus, limit, size and pattern.",
    ]
    jobs = {job.expected_key: job for definition in definitions() for job in definition.jobs if job.task == "encode"}
    for key, job in sorted(jobs.items()):
        documents = corpora.documents(job.corpus, piece=job.piece, limit=job.limit)
        oracle = engine("tiktoken")
        oracle.load(job.encoding, corpora.ranks(job.encoding))
        ids = oracle.ids(oracle.encode(documents, 1))
        digest = hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest()
        lines.append(f"{key}: {{tokens: {len(ids)}, sha256: {digest}}}")
        print(lines[-1], file=sys.stderr)
    trained = [job for definition in definitions() for job in definition.jobs if job.task == "train"]
    for job in {job.expected_key: job for job in trained if job.engine in ("rustbpe", "tokenizers")}.values():
        corpus = corpora.text_file(job.corpus, limit=job.limit)
        found = described(engine(job.engine).train(corpus, job.vocab, job.pattern, job.threads))
        lines.append(f"{job.expected_key}: {{merges: {found['merges']}, sha256: {found['sha256']}}}")
        print(lines[-1], file=sys.stderr)
    EXPECTED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, add_help=True)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("action", choices=("record", "smoke", "expect", "readme"))
    parser.add_argument("part", nargs="?", default="", help="only definitions whose name contains this")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--name", default="main", help="what the record is called")
    chosen = parser.parse_args()
    if chosen.action == "smoke":
        return smoke(chosen.part)
    if chosen.action == "record":
        record(chosen.part, chosen.rounds, chosen.name)
    elif chosen.action == "expect":
        expect()
    else:
        report.write_readme()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
