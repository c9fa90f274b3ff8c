"""Running definitions: fresh processes, engines interleaved, every round kept; ids judged before any time is."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import slmtok
from benchmarks import corpora
from benchmarks.definition import Definition, Job, expected
from benchmarks.engines import ENGINES
from benchmarks.worker import described

# A job that takes longer has failed.
LIMIT = 1800


def environment() -> dict[str, Any]:
    """Where and with what: processor, threads, versions."""
    versions = {}
    for package in (*ENGINES, "numpy"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "absent"
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.system(),
        "python": platform.python_version(),
        "commit": _commit(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=corpora.ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def run(definition: Definition, rounds: int) -> Iterator[dict[str, Any]]:
    """One row a job and round. A job that was skipped, or whose ids are wrong, is not run again."""
    known = expected()
    out: set[Job] = set()
    for number in range(rounds):
        for job in definition.jobs:
            if job in out:
                continue
            row = {"definition": definition.name, "round": number, **job.to_dict(), **measure(job)}
            row["verdict"] = verdict(job, row, known)
            if row["verdict"] != "ok":
                out.add(job)
            yield row


def verdict(job: Job, row: dict[str, Any], known: dict[str, dict[str, Any]]) -> str:
    """ "ok", or why there is no time: skipped, failed, or other ids than tiktoken's."""
    for key in ("skipped", "failed"):
        if key in row:
            return f"{key}: {row[key]}"
    if job.task not in ("encode", "train"):
        return "ok"
    want = known.get(job.expected_key)
    if want is None:
        return "ok" if job.corpus == "stories" else "nothing to compare with: python -m benchmarks expect"
    if row["sha256"] == want["sha256"]:
        return "ok"
    if job.task == "train":
        return f"other merges than its tie rule gives: {row['merges']}, {want['merges']} expected"
    return f"other ids than tiktoken's: {row['tokens']} tokens, {want['tokens']} expected"


def measure(job: Job) -> dict[str, Any]:
    """Runs one job in a fresh process."""
    if job.task == "train" and job.engine == "slmtok":
        return _command(job)
    if job.task == "train":
        corpora.text_file(job.corpus, limit=job.limit)
    begun = time.monotonic()
    done = _process([sys.executable, "-m", "benchmarks.worker", json.dumps(job.to_dict())])
    if done is None or done.returncode:
        return {"failed": "too slow" if done is None else _last_line(done.stderr)}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
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
        done = _process(line)
        seconds = time.monotonic() - begun
        if done is None or done.returncode:
            return {"failed": "too slow" if done is None else _last_line(done.stderr)}
        learned = [token for _, token in slmtok.load(Path(folder) / "tok.json").vocabulary.items()][256:]
    peak = json.loads(done.stdout)["result"]["peak_memory"]
    return {"bytes": corpus.stat().st_size, **described(learned), "peak": peak, "first": seconds}


def _process(line: list[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(line, cwd=corpora.ROOT, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"
