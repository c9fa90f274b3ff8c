"""One measurement in a fresh process: a job as JSON in, one line of JSON out.

`python -m slmtok.bench.measure JOB` measures one engine. Times are seconds: `load`, `first` the first call, `third` the
third call, when caches are filled. `peak` is the memory that loading and the first call add to the process.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.training.memory import peak_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.engine import Engine
    from slmtok.bench.source import Source

MIN_TIMED_CALLS, MIN_TIMED_CHARS = 20_000, 4_000_000
"""Single calls are repeated until one of both is reached, so that they take long enough to be timed."""


def run_job(
    module: str, job: Mapping[str, Any], *, threads: int, timeout: float, folder: Path | None = None
) -> dict[str, Any]:
    """Runs `python -m module JOB`. RAYON_NUM_THREADS limits engines that have no option for threads.

    A job that fails or exceeds its timeout gives `{"failed": reason}`.
    """
    rayon = {"RAYON_NUM_THREADS": str(threads)} if threads else {}
    environment = {**os.environ, **rayon, "TOKENIZERS_PARALLELISM": "false" if threads == 1 else "true"}
    command = [sys.executable, "-m", module, json.dumps(dict(job))]
    done = run_command(command, timeout=timeout, folder=folder, environment=environment)
    if isinstance(done, str):
        return {"failed": done}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def run_command(
    command: Sequence[str],
    *,
    timeout: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str] | str:
    """The finished process of a command, or the reason why it failed."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return f"too slow: more than {timeout:g} s"
    if done.returncode:
        return _error_line(done.stderr) or f"status {done.returncode} without a message"
    return done


def _error_line(stderr: str) -> str:
    """The last line of an error that is neither indented nor a heading; some libraries append such details."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    messages = [line for line in lines if not line[0].isspace() and not line.endswith(":")]
    return (messages or lines or [""])[-1]


def pin(threads: int) -> None:
    """Pins a process with one thread to one core, so that an engine with threads of its own cannot use more."""
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


class MemoryMeter:
    """Peak memory since construction, less the memory at that moment, in bytes."""

    def __init__(self) -> None:
        # Linux resets the peak on request; elsewhere the peak so far is the base.
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self._base = peak_memory() or 0

    def added(self) -> int:
        """Bytes above the base at the peak so far."""
        return max((peak_memory() or 0) - self._base, 0)


def digest(ids: NDArray[np.uint32]) -> str:
    """The sha256 of ids as little-endian 32-bit integers."""
    return hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest()


def measure_batches(
    engine: Engine, source: Source, documents: Sequence[str], threads: int
) -> tuple[dict[str, Any], NDArray[np.uint32]]:
    """Load and three batch calls: (row, ids of the first call)."""
    memory = MemoryMeter()
    load, _ = timed(lambda: engine.load(source))
    first, encoded = timed(lambda: engine.encode(documents, threads))
    peak = memory.added()
    ids = engine.ids(encoded)
    del encoded
    engine.encode(documents, threads)
    third, encoded = timed(lambda: engine.encode(documents, threads))
    _check_equal(ids, engine.ids(encoded))
    return {**_facts(documents, ids, engine.form), "load": load, "first": first, "third": third, "peak": peak}, ids


def measure_calls(
    engine: Engine, source: Source, documents: Sequence[str], output: str
) -> tuple[dict[str, Any], NDArray[np.uint32]]:
    """Load, and one call a document: (row, ids). `output` is "list" or "numpy".

    `first` is one pass over all documents; `third` the mean of enough passes to be timed.
    """
    import numpy as np

    memory = MemoryMeter()
    load, _ = timed(lambda: engine.load(source))
    call = engine.list_call() if output == "list" else engine.numpy_call()

    def run_passes(number: int) -> None:
        for _ in range(number):
            for document in documents:
                call(document)

    def all_ids() -> NDArray[np.uint32]:
        return np.concatenate([np.zeros(0, np.uint32), *(engine.to_array(call(document)) for document in documents)])

    first, _ = timed(lambda: run_passes(1))
    peak = memory.added()
    ids = all_ids()
    chars = max(sum(map(len, documents)), 1)
    passes = max(min(MIN_TIMED_CALLS // max(len(documents), 1), MIN_TIMED_CHARS // chars), 1)
    seconds, _ = timed(lambda: run_passes(passes))
    _check_equal(ids, all_ids())
    row = {**_facts(documents, ids, output), "calls": len(documents)}
    return {**row, "load": load, "first": first, "third": seconds / passes, "peak": peak}, ids


def _check_equal(first: NDArray[np.uint32], later: NDArray[np.uint32]) -> None:
    """Raises `RuntimeError` if two calls gave different ids: an engine that is not deterministic gets no time."""
    if digest(first) != digest(later):
        raise RuntimeError("a later call gave other ids than an earlier one")


def _facts(documents: Sequence[str], ids: NDArray[np.uint32], form: str) -> dict[str, Any]:
    size = sum(len(document.encode()) for document in documents)
    return {"bytes": size, "tokens": len(ids), "sha256": digest(ids), "form": form}


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """The row of a job of `slmtok bench`, or `skipped` with the reason.

    The job names the engine, the vocabulary, the file of documents, the threads, and where to save the ids (or "").
    """
    import numpy as np

    from slmtok.bench.engine import UnsupportedError
    from slmtok.bench.engines import engine
    from slmtok.bench.source import Source, load_documents

    pin(job["threads"])
    documents = load_documents(Path(job["documents"]))
    try:
        row, ids = measure_batches(engine(job["engine"]), Source(**job["source"]), documents, job["threads"])
    except (UnsupportedError, ImportError) as reason:
        return {"skipped": str(reason)}
    if job["ids"]:
        np.save(job["ids"], ids)
    return row


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(measure(json.loads(sys.argv[1]))) + "\n")
