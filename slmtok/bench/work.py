"""One measurement, in the process that does nothing else.

Times are seconds. `load` is getting ready, `first` the first call, `third` the third, when caches are warm. `peak` is
the memory that the process reached while it loaded and encoded for the first time, less what it had when the text was
there and nothing had begun.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.base import Engine
    from slmtok.bench.source import Source

CALLS, BYTES = 20_000, 4_000_000
"""So many calls are long enough to be timed, and so many bytes are in any case."""


def pin(threads: int) -> None:
    """One thread means one core, so that an engine with threads of its own has no more all the same."""
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    begun = time.perf_counter()
    value = call()
    return time.perf_counter() - begun, value


class Memory:
    """Bytes of memory at the highest point since it was made, less those of that moment."""

    def __init__(self) -> None:
        # Linux forgets the highest point when asked; elsewhere, the highest point so far is the base.
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self._base = highest()

    def used(self) -> int:
        """So far."""
        return max(highest() - self._base, 0)


def highest() -> int:
    """Bytes of memory at the highest point of this process."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def digest(ids: NDArray[np.uint32]) -> str:
    """sha256 of ids as little-endian 32-bit numbers."""
    return hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest()


def encode(engine: Engine, source: Source, documents: Sequence[str], threads: int) -> tuple[dict[str, Any], Any]:
    """Load and three batch calls; with the numbers come the ids of the first call."""
    memory = Memory()
    load, _ = timed(lambda: engine.load(source))
    first, encoded = timed(lambda: engine.encode(documents, threads))
    peak = memory.used()
    ids = engine.ids(encoded)
    del encoded
    engine.encode(documents, threads)
    third, encoded = timed(lambda: engine.encode(documents, threads))
    _same(ids, engine.ids(encoded))
    return {**_about(documents, ids, engine.form), "load": load, "first": first, "third": third, "peak": peak}, ids


def calls(engine: Engine, source: Source, documents: Sequence[str], output: str) -> tuple[dict[str, Any], Any]:
    """Load, and one call a document; `output` is "list" or "numpy".

    `first` goes over all documents once; `third` is the mean of as many passes as can be timed well.
    """
    import numpy as np

    memory = Memory()
    load, _ = timed(lambda: engine.load(source))
    call = engine.list_call() if output == "list" else engine.numpy_call()

    def once() -> None:
        for document in documents:
            call(document)

    def ids_of_all() -> NDArray[np.uint32]:
        return np.concatenate([np.zeros(0, np.uint32), *(engine.one(call(document)) for document in documents)])

    first, _ = timed(once)
    peak = memory.used()
    ids = ids_of_all()
    passes = _passes(documents)
    begun = time.perf_counter()
    for _ in range(passes):
        once()
    third = (time.perf_counter() - begun) / passes
    _same(ids, ids_of_all())
    about = {**_about(documents, ids, output), "calls": len(documents)}
    return {**about, "load": load, "first": first, "third": third, "peak": peak}, ids


def _same(ids: NDArray[np.uint32], again: NDArray[np.uint32]) -> None:
    """Raises `RuntimeError` if a later call gave other ids than an earlier one: no time of such an engine counts."""
    if digest(ids) != digest(again):
        raise RuntimeError("a later call gave other ids than an earlier one")


def _passes(documents: Sequence[str]) -> int:
    """How often to go over all documents."""
    size = max(sum(map(len, documents)), 1)
    return max(min(CALLS // max(len(documents), 1), BYTES // size), 1)


def _about(documents: Sequence[str], ids: NDArray[np.uint32], form: str) -> dict[str, Any]:
    size = sum(len(document.encode()) for document in documents)
    return {"bytes": size, "tokens": len(ids), "sha256": digest(ids), "form": form}
