"""Running definitions: fresh processes, engines interleaved, every round kept; ids judged before any time is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import slmtok
from benchmarks import corpora
from benchmarks.definition import SLOW_ROUNDS, Definition, expected
from benchmarks.job import Job
from benchmarks.worker import described
from slmtok.bench import process
from slmtok.bench.comparison import machine
from slmtok.bench.registry import ENGINES, installed

LIMIT = 600.0
"""Seconds; a job that takes longer has failed."""


def environment() -> dict[str, Any]:
    """Where and with what: processor, threads, versions."""
    return {
        **machine(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": sys.platform.capitalize(),
        "huge_pages": _huge_pages(),
        "commit": commit(),
        "versions": {package: installed(package) or "absent" for package in (*ENGINES, "numpy")},
    }


def _huge_pages() -> str:
    try:
        line = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="ascii")
    except OSError:
        return "unknown"
    return line.partition("[")[2].partition("]")[0] or "unknown"


def commit() -> str:
    """The commit that is measured, marked where files were changed since; what a record writes does not count."""
    name = _git("rev-parse", "--short", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!README.md", ":!benchmarks/record")
    return f"{name or 'unknown'}{'-dirty' if changed else ''}"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=corpora.ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def run(definition: Definition, rounds: int) -> Iterator[dict[str, Any]]:
    """One row a job and round. A job that was skipped, or whose ids are wrong, is not run again."""
    known = expected()
    out: set[Job] = set()
    for job in definition.jobs:
        _prepare(job)
    for number in range(rounds):
        for job in definition.jobs:
            if job in out or (number >= SLOW_ROUNDS and job.engine in definition.slow):
                continue
            row = {"definition": definition.name, "round": number, **job.to_dict(), **measure(job)}
            row["alone"] = job.task == "train" and not job.expected_key
            row["verdict"] = verdict(job, row, known)
            if row["verdict"].startswith("other ids"):
                row["verdict"] += f"; {_where(job)}"
            if row["verdict"] != "ok":
                out.add(job)
            yield row


def _prepare(job: Job) -> None:
    """Makes what is kept, so that no measurement does."""
    if job.encoding and job.corpus:
        corpora.vocabulary(job.encoding, job.corpus, limit=job.limit, vocab=job.vocab, pattern=job.pattern)
        corpora.documents(job.corpus, limit=job.limit)
    elif job.corpus:
        corpora.text_file(job.corpus, limit=job.limit)


def verdict(job: Job, row: dict[str, Any], known: dict[str, dict[str, Any]]) -> str:
    """ "ok", or why there is no time: skipped, failed, or other ids than tiktoken's."""
    for key in ("skipped", "failed"):
        if key in row:
            return f"{key}: {row[key]}"
    if not job.expected_key:
        return "ok"
    want = known.get(job.expected_key)
    if want is None:
        # What is made here is also made in other sizes, to see that all works; a test holds that the rest is known.
        made = job.corpus not in (*corpora.SHARED, *corpora.DERIVED) or job.corpus == "stories"
        return "ok" if made else "nothing to compare with: python -m benchmarks expect"
    if row["sha256"] == want["sha256"]:
        return "ok"
    if job.task == "train":
        return f"other merges than its tie rule gives: {row['merges']}, {want['merges']} expected"
    return f"other ids than tiktoken's: {row['tokens']} tokens, {want['tokens']} expected"


def _where(job: Job) -> str:
    """Where its ids part from tiktoken's."""
    batch = {**replace(job, output="").to_dict(), "task": "explain"}
    found = process.run("benchmarks.worker", batch, threads=job.threads, limit=LIMIT, folder=corpora.ROOT)
    return str(found.get("where") or found)


def measure(job: Job) -> dict[str, Any]:
    """Runs one job in a fresh process."""
    if job.task == "train" and job.engine == "slmtok":
        return _command(job)
    begun = time.monotonic()
    result = process.run("benchmarks.worker", job.to_dict(), threads=job.threads, limit=LIMIT, folder=corpora.ROOT)
    if "ended" in result:
        # From the start of the process to the merges, on a clock that both processes read.
        result["first"] = result.pop("ended") - begun
    return result


def _command(job: Job) -> dict[str, Any]:
    """`slmtok train` as people type it, to the end of the process."""
    corpus = corpora.text_file(job.corpus, limit=job.limit)
    with tempfile.TemporaryDirectory() as folder:
        line = [str(Path(sys.executable).with_name("slmtok")), "train", str(corpus), "--vocab", str(job.vocab)]
        line += ["--pattern", job.pattern, "--min-count", "1", "--max-token-bytes", "0", "--allow-smaller", "--json"]
        line += ["--threads", str(job.threads), "-o", str(Path(folder) / "tok.json")]
        begun = time.monotonic()
        done = process.start(line, limit=LIMIT, folder=corpora.ROOT)
        seconds = time.monotonic() - begun
        if isinstance(done, str):
            return {"failed": done}
        learned = [token for _, token in slmtok.load(Path(folder) / "tok.json").vocabulary.items()][256:]
    peak = json.loads(done.stdout)["result"]["peak_memory"]
    return {"bytes": corpus.stat().st_size, **described(learned), "peak": peak, "first": seconds}
