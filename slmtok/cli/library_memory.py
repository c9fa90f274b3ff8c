"""Refuses a library that a limit on the memory of this process leaves no room for, before it is loaded.

Where memory runs out while numpy or torch is loaded, they end the process, abort it or keep it busy for ever, and the
system kills it within the limit of a container or a job (a control group).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.machinery import PathFinder

from slmtok.cli.import_checks import check_before_import
from slmtok.errors import Unreadable

# Windows has none.
try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

LIMITS = {"RLIMIT_AS": ("the address space", "ulimit {}-v {}"), "RLIMIT_DATA": ("the private memory", "ulimit {}-d {}")}
"""By the name of a limit on the memory of a process: what it limits, and the command that sets it."""
_STATM = {"RLIMIT_AS": 0, "RLIMIT_DATA": 5}
"""By the name of a limit: the field of /proc/self/statm with the pages that count (man 5 proc)."""
NUMPY = {"RLIMIT_AS": 96, "RLIMIT_DATA": 64}
"""MB that numpy takes with one thread of OpenBLAS, 83 and 47, and some for the command."""


class LibraryTooLargeError(MemoryError):
    """A library takes more memory than a limit leaves. error: the message about it."""

    def __init__(self, error: Unreadable) -> None:
        super().__init__(error.fact)
        self.error = error


def refuse_beyond_limits(name: str, needed: Mapping[str, int], within: str = "", free: int = 0) -> None:
    """From now on an import of a library raises `LibraryTooLargeError` where a limit leaves less MB than it needs.

    within: only of a library with this file in its folder. free: MB of free memory that it needs.
    OpenBLAS of numpy starts one thread where it is not told.
    """
    is_limited = resource is not None and any(_left(limit) is not None for limit in needed)
    if not (is_limited or free):
        return
    if is_limited:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    limits = needed if is_limited else {}
    check_before_import(name, "memory", lambda: _check(name, limits, within, free))


def _check(name: str, limits: Mapping[str, int], within: str, free: int) -> None:
    for limit, megabytes in limits.items():
        if (left := _left(limit)) is not None and left < megabytes << 20:
            _refuse(name, within, *parts_about(limit, name, megabytes))
    present = _free_memory() if free else None
    if present is not None and present < free << 20:
        where = f"{present:,} bytes are free on this machine, or in the container or the job of this process"
        bound = f"{name} takes more than {free:,} MB"
        _refuse(name, within, where, bound, "free memory, or a container or a job with more")


def _refuse(name: str, within: str, where: str, bound: str, fix: str) -> None:
    if _has(name, within):
        fact = f"{name} cannot be loaded: not enough memory"
        raise LibraryTooLargeError(Unreadable(fact, where=where, limit=bound, fix=fix))


def parts_about(limit: str, name: str, megabytes: int) -> tuple[str, str, str]:
    """The place, the limit and the remedy for a library that takes more memory than a limit leaves."""
    memory, command = LIMITS[limit]
    soft, hard = resource.getrlimit(getattr(resource, limit))
    is_open = hard == resource.RLIM_INFINITY
    raised = command.format("-S ", "unlimited" if is_open else hard // 1024)
    return (
        f"{memory} of this process is limited to {soft:,} bytes ({limit}, {command.format('', soft // 1024)})",
        f"{name} takes more than {megabytes:,} MB of it",
        raised if is_open or hard > soft else "a shell or a job with a larger limit; it cannot be raised here",
    )


def _free_memory() -> int | None:
    from slmtok.system_memory import free_memory

    return free_memory()


def _left(limit: str) -> int | None:
    """The bytes that a limit leaves this process; None without a limit, or without /proc."""
    soft: int = resource.getrlimit(getattr(resource, limit))[0]
    if soft == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            pages = int(file.read().split()[_STATM[limit]])
    except OSError:
        return None
    return soft - pages * resource.getpagesize()


def _has(name: str, within: str) -> bool:
    """Whether a library is installed, with this file in its folder."""
    spec = PathFinder.find_spec(name)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return any(os.path.exists(os.path.join(folder, within)) for folder in folders)  # noqa: PTH110, PTH118
