"""Running definitions: fresh processes, engines interleaved within a round, ids checked before times count."""

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
from benchmarks.definition import SLOW_ROUNDS, Definition, Job, expected
from benchmarks.worker import merges_digest
from slmtok.bench.comparison import machine
from slmtok.bench.engines import ENGINES, installed_version
from slmtok.bench.measure import run_command, run_job

TIMEOUT_SECONDS = 600.0
"""A job that takes longer has failed."""


def environment() -> dict[str, Any]:
    """Processor, memory, commit and versions."""
    return {
        **machine(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": sys.platform.capitalize(),
        "huge_pages": _huge_pages(),
        "commit": commit(),
        "versions": {package: installed_version(package) or "absent" for package in (*ENGINES, "numpy")},
    }


def _huge_pages() -> str:
    try:
        line = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="ascii")
    except OSError:
        return "unknown"
    return line.partition("[")[2].partition("]")[0] or "unknown"


def commit() -> str:
    """The measured commit, with `-dirty` if tracked files differ from it; files that a record writes do not count."""
    name = _git("rev-parse", "--short", "HEAD")
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/benchmarks.md", ":!benchmarks/record"
    )
    return f"{name or 'unknown'}{'-dirty' if changed else ''}"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=corpora.ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def run(definition: Definition, rounds: int) -> Iterator[dict[str, Any]]:
    """One row a job and round. A job that was skipped, or whose ids are wrong, does not run again."""
    known = expected()
    finished: set[Job] = set()
    for job in definition.jobs:
        _prepare(job)
    for number in range(rounds):
        for job in definition.jobs:
            if job in finished or (number >= SLOW_ROUNDS and job.engine in definition.slow):
                continue
            row = {"definition": definition.name, "round": number, **job.to_dict(), **measure(job)}
            row["alone"] = job.task == "train" and not job.expected_key
            row["verdict"] = verdict(job, row, known)
            if row["verdict"].startswith("other ids"):
                row["verdict"] += f"; {_first_difference(job)}"
            if row["verdict"] != "ok":
                finished.add(job)
            yield row


def _prepare(job: Job) -> None:
    """Fills the cache, so that no measurement does."""
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
        # Generated texts also run in other sizes (smoke); a test proves that all other keys are known.
        generated = job.corpus not in (*corpora.SHARED, *corpora.DERIVED) or job.corpus == "stories"
        return "ok" if generated else "no expected ids: python -m benchmarks expect"
    if row["sha256"] == want["sha256"]:
        return "ok"
    if job.task == "train":
        return f"other merges than its tie-break rule gives: {row['merges']}, {want['merges']} expected"
    return f"other ids than tiktoken's: {row['tokens']} tokens, {want['tokens']} expected"


def _first_difference(job: Job) -> str:
    """The first id that differs from tiktoken's, as a sentence."""
    result = _run_worker({**replace(job, output="").to_dict(), "task": "explain"}, job.threads)
    return str(result.get("where") or result)


def _run_worker(job: dict[str, Any], threads: int) -> dict[str, Any]:
    return run_job("benchmarks.worker", job, threads=threads, timeout=TIMEOUT_SECONDS, folder=corpora.ROOT)


def measure(job: Job) -> dict[str, Any]:
    """Runs one job in a fresh process."""
    if job.task == "train" and job.engine == "slmtok":
        return _train_command(job)
    start = time.monotonic()
    result = _run_worker(job.to_dict(), job.threads)
    if "ended" in result:
        # From the start of the process to the merges; both processes read the same clock.
        result["first"] = result.pop("ended") - start
    return result


def _train_command(job: Job) -> dict[str, Any]:
    """The command `slmtok train`, to the end of its process."""
    corpus = corpora.text_file(job.corpus, limit=job.limit)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("slmtok")), "train", str(corpus), "--vocab", str(job.vocab)]
        command += ["--pattern", job.pattern, "--min-count", "1", "--max-token-bytes", "0", "--allow-smaller", "--json"]
        command += ["--threads", str(job.threads), "-o", str(Path(folder) / "tok.json")]
        start = time.monotonic()
        done = run_command(command, timeout=TIMEOUT_SECONDS, folder=corpora.ROOT)
        seconds = time.monotonic() - start
        if isinstance(done, str):
            return {"failed": done}
        learned = [token for _, token in slmtok.load(Path(folder) / "tok.json").vocabulary.items()][256:]
    peak = json.loads(done.stdout)["result"]["peak_memory"]
    return {"bytes": corpus.stat().st_size, **merges_digest(learned), "peak": peak, "first": seconds}
