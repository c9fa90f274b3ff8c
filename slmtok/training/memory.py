"""Memory: how much there is, how much counting may take, and whether the merge loop will have enough.

The bound is on counting, where a corpus of any size can be counted exactly: what does not fit goes to temporary files.
The merge loop has to hold every distinct piece; what it will need is known before it starts, and a need that the
machine cannot meet is an error then, not a killed process later.
"""

from __future__ import annotations

import math
import os
import re
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from slmtok.errors import NotEnoughMemory, OptionError, WrongType
from slmtok.sizes import in_bytes, parse_size

LEAST = 100_000_000
"""The least limit: most of it are the program itself and what it reads."""
PROGRAM = 64_000_000
"""As much of what the process holds when counting begins is the program's own; more belongs to its caller."""
READING = 36_000_000
"""What reading a corpus takes besides the tables: batches of documents, windows of files, blocks of runs."""
_TABLES = 8_000_000
_LIMIT = "100MB and more"
_FIX = "memory='1GB', memory='50%' of what is free, or a number of bytes"
_SPILL = re.compile(r"\.slmtok-\d+-[0-9a-f]{16}\.counts")
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?|100)\s*%", re.ASCII)


def judged(value: int | str | None) -> int | None:
    """`memory=` in bytes; None, which is half of what is free, stays None where the system does not tell.

    Raises `OptionError`, `WrongType`.
    """
    if value is None:
        free = free_memory()
        return None if free is None else max(free // 2, LEAST)
    size = parse_memory(value) if isinstance(value, str) else _whole(value)
    if size < LEAST:
        raise OptionError(
            f"memory={value!r} is too little to count in", limit=_LIMIT, fix="memory='1GB'", option="memory"
        )
    return size


def parse_memory(text: str) -> int:
    """Bytes of `500MB`, `2GiB`, or `50%` of what is free. Raises `OptionError`."""
    percent = _PERCENT.fullmatch(text.strip())
    free = free_memory() if percent else None
    size = math.floor(free * float(percent[1]) / 100) if percent and free is not None else parse_size(text)
    if size is None:
        reason = "this system does not tell how much is free" if percent else "it is no size"
        raise OptionError(f"memory={text!r} means nothing: {reason}", limit=_LIMIT, fix=_FIX, option="memory")
    return size


def _whole(value: object) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise WrongType(f"memory= takes a size, not {type(value).__name__}", fix=_FIX)
    return int(value.__index__())


def budget(memory: int | None, folder: str | None) -> tuple[int, str] | None:
    """What the engine's tables may take of `memory`, and the folder for what does not fit; None is no bound."""
    if memory is None:
        return None
    held = min(resident_memory() or PROGRAM, PROGRAM)
    return max(memory - READING - held, _TABLES), folder or tempfile.gettempdir()


def sweep_spills(folder: str) -> None:
    """Removes the names of spills that killed processes have left.

    On POSIX a spill has a name for an instant only, and its owner does not mind when that is gone sooner.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        for path in Path(folder).iterdir():
            if _SPILL.fullmatch(path.name):
                path.unlink(missing_ok=True)


def check_merging(need: int, pieces: int) -> None:
    """Raises `NotEnoughMemory` where the machine has less than the merge loop needs."""
    free = free_memory()
    if free is not None and need > free:
        raise NotEnoughMemory(
            f"learning merges of {pieces:,} distinct pieces takes about {in_bytes(need)} of memory",
            where="the merge loop, which holds all of them; counting is over",
            limit=f"{in_bytes(free)} are free on this machine",
            fix="a machine with more memory, a part of the corpus (max_bytes=), or a pattern that cuts smaller pieces",
            need=need,
            free=free,
        )


def free_memory() -> int | None:
    """Bytes that this process may still take, in its container if any; None where the system does not tell."""
    known = [size for size in (_available(), _container()) if size is not None]
    return min(known) if known else None


def resident_memory() -> int | None:
    """Bytes that this process holds now, None where the system does not tell."""
    try:
        import resource

        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return None


def peak_memory() -> int | None:
    """The most memory that this process has held, in bytes.

    Linux's own number is asked first: what `getrusage` says there may be that of the process that started this one.
    """
    peak = _told("/proc/self/status", "VmHWM:")
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _available() -> int | None:
    return _told("/proc/meminfo", "MemAvailable:")


def _told(place: str, label: str) -> int | None:
    """A number of kilobytes that Linux tells in a file with a line for each, in bytes."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(place).read_text().splitlines():
            if line.startswith(label):
                return int(line.split()[1]) * 1024
    return None


_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def _container() -> int | None:
    """What is left of the limit on the group of processes that this one is in."""
    for limit, used in _GROUPS:
        with suppress(OSError, ValueError):
            left = int(Path(limit).read_text()) - int(Path(used).read_text())
            return max(left + _cached(Path(used).with_name("memory.stat")), 0)
    return None


def _cached(stat: Path) -> int:
    """Bytes of files that count as used in a group, and that the system gives up when memory is wanted."""
    with suppress(OSError, ValueError):
        told = dict(line.split() for line in stat.read_text().splitlines())
        return int(told.get("total_inactive_file") or told.get("inactive_file") or 0)
    return 0
