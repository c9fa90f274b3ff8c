"""Memory: the free memory of the machine, the budget of counting, and whether the merge loop will fit.

The limit applies to counting, where a corpus of any size can be counted exactly: what does not fit goes to temporary
files. The merge loop holds every distinct piece; its need is known before it starts, and an error where the machine has
less.
"""

from __future__ import annotations

import math
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from slmtok.checks import U64, check_output_name
from slmtok.errors import NotEnoughMemory, OptionError, Setting
from slmtok.option_values import MIN_MEMORY_BYTES, parse_memory
from slmtok.sizes import format_bytes
from slmtok.system_memory import free_memory, read_kib

INTERPRETER_BYTES = 64_000_000
"""Upper bound of the interpreter's share of the resident memory when counting begins; the rest is the caller's."""
READING_BYTES = 50_000_000
"""Memory of reading a corpus besides the tables: batches of documents, windows of files, blocks of runs."""
_MIN_TABLE_BYTES = 8_000_000
_MIN_RECORD_BYTES = 8_000_000
_SPILL_NAME = re.compile(r"\.slmtok-\d+-[0-9a-f]{16}\.counts")


def memory_limit(value: int | str | None) -> int | None:
    """The option `memory` in bytes; None is half of the free memory, or no limit where the system does not report it.

    Raises `OptionError`, `WrongType`.
    """
    free = free_memory()
    if value is None:
        return None if free is None else max(free // 2, MIN_MEMORY_BYTES)
    size, percent = parse_memory(value)
    if percent is not None:
        size = None if free is None else math.floor(free * percent / 100)
    if size is None or size < MIN_MEMORY_BYTES:
        reason = "unknown: this system does not report its free memory"
        if size is not None:
            reason = f"{format_bytes(size)}, too little to count in"
        raise OptionError(
            (Setting("memory", value), f" is {reason}"),
            limit="100MB or more",
            fix=(Setting("memory", "1GB"),),
            option="memory",
        )
    return size


def engine_budget(limit: int | None, spill_dir: str | os.PathLike[str] | None) -> tuple[int, str] | None:
    """(bytes for the engine's tables, folder for the excess) under a memory limit; None is no bound."""
    if limit is None:
        return None
    held = min(resident_memory() or INTERPRETER_BYTES, INTERPRETER_BYTES)
    import tempfile

    folder = tempfile.gettempdir() if spill_dir is None else os.fspath(spill_dir)
    check_output_name(folder)
    return max(limit - READING_BYTES - held, _MIN_TABLE_BYTES), folder


def largest_record(limit: int | None) -> int:
    """Most bytes of a document that is a line or a row, several of which are held at once under a memory limit."""
    return U64 if limit is None else max(limit // 8, _MIN_RECORD_BYTES)


def remove_stale_spills(folder: str) -> None:
    """Removes spill files of killed processes.

    On POSIX a spill is unlinked right after it is opened, so removing the file of a live process is harmless.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        for path in Path(folder).iterdir():
            if _SPILL_NAME.fullmatch(path.name):
                path.unlink(missing_ok=True)


def check_merging(need: int, pieces: int) -> None:
    """Raises `NotEnoughMemory` where the machine has less than the merge loop needs."""
    free = free_memory()
    if free is not None and need > free:
        raise NotEnoughMemory(
            f"learning merges of {pieces:,} distinct pieces takes about {format_bytes(need)} of memory",
            where="the merge loop, which holds all of them; counting is complete",
            limit=f"{format_bytes(free)} are free on this machine",
            fix=(
                "a machine with more memory, part of the corpus (",
                Setting("max_bytes"),
                "), or a pattern with smaller pieces",
            ),
            need=need,
            free=free,
        )


def resident_memory() -> int | None:
    """Resident memory of this process in bytes, None where the system does not report it."""
    try:
        import resource

        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return None


def peak_memory() -> int | None:
    """Peak resident memory of this process in bytes.

    On Linux from /proc: there `getrusage` may report the peak of the parent process.
    """
    peak = read_kib("/proc/self/status", "VmHWM:")
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
