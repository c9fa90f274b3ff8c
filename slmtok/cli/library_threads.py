"""Refuses a library that a limit on processes leaves no threads for, before it is loaded.

Where the system starts no more threads, OpenBLAS of numpy sends its own process SIGINT, libgomp of torch ends it, and
tokenizers prints a panic.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

from slmtok.cli.import_checks import check_before_import

# Windows has none.
try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

_VARIABLES = {
    "numpy": ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"),
    "torch": ("OMP_NUM_THREADS",),
    "tokenizers": ("RAYON_NUM_THREADS",),
}
"""By the name of a library: the variables that set the number of its threads; the first that is set counts."""

_MANY = 4096
"""A limit on processes that leaves room; where nobody set one, systems have tens of thousands, or -1 for none."""
_MANY_PER_PROCESSOR = 16
"""Threads that a control group leaves, with which all libraries and the command can be run."""


def refuse_without_threads() -> None:
    """From now on an import of a library raises `RuntimeError` where a limit on processes leaves it too few threads."""
    if resource is None:
        return
    if 0 <= resource.getrlimit(resource.RLIMIT_NPROC)[0] < _MANY or _is_left_few():
        for name in _VARIABLES:
            check_before_import(name, "threads", partial(_start_threads, name))


def _is_left_few() -> bool:
    """Whether a control group of this process leaves it few threads."""
    from slmtok.system_memory import control_groups

    for group in control_groups("pids"):
        # Not all groups have a limit, and not all files can be read.
        with suppress(OSError, ValueError):
            left = int((group / "pids.max").read_bytes()) - int((group / "pids.current").read_bytes())
            if left < _MANY_PER_PROCESSOR * _processors():
                return True
    return False


def _processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_threads(name: str) -> None:
    """Starts as many threads as a library. Raises the `RuntimeError` of Python where the system starts fewer."""
    import threading

    is_over = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(_number_of_threads(name)):
            thread = threading.Thread(target=is_over.wait, daemon=True)
            thread.start()
            started.append(thread)
    finally:
        is_over.set()
        for thread in started:
            thread.join()


def _number_of_threads(name: str) -> int:
    """The threads that a library starts: one for each processor that this process may use, or as a variable sets."""
    processors = _processors()
    given = next((os.environ[variable] for variable in _VARIABLES[name] if os.environ.get(variable)), "")
    number = min(int(given), processors) if given.isdecimal() and int(given) else processors
    # The thread of the caller is one of those of OpenMP; tokenizers is called in a thread, beside that of the progress.
    return number + 2 if name == "tokenizers" else number - 1
