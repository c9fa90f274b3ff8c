"""Free memory of the machine, within the limits of the control groups of this process: of its container and its job.

slmtok and slmmodel hold the same text of this file, since neither imports the other; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_CONTROL_GROUPS = "/sys/fs/cgroup"
_MEMBERSHIP = "/proc/self/cgroup"
_LIMIT_AND_USED = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
"""Files of a control group of version 2, and of version 1."""


def free_memory() -> int | None:
    """Free memory in bytes; None where the system does not report it."""
    known = (read_kib("/proc/meminfo", "MemAvailable:"), *map(_left_in, control_groups("memory")))
    return min((size for size in known if size is not None), default=None)


def read_kib(path: str, label: str) -> int | None:
    """The value of `label` in a /proc file of `label: N kB` lines, in bytes."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(label):
                return int(line.split()[1]) * 1024
    return None


def control_groups(controller: str) -> Iterator[Path]:
    """The folders of the control groups of this process, and of their parents, whose limits hold for it as well.

    controller: what they limit, such as `memory` or `pids`.

    In a container the names of groups may be those of the machine, where no such folder is: then the mount itself is
    the group of the container.
    """
    mounts = (Path(_CONTROL_GROUPS), Path(_CONTROL_GROUPS, controller))
    yield from mounts
    with suppress(OSError, ValueError):
        for line in Path(_MEMBERSHIP).read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            _, controllers, name = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            # Above the root of a namespace of groups, a name begins with `..`.
            parts = [] if ".." in name.split("/") else name.strip("/").split("/")
            mount = mounts[bool(controllers)]
            yield from (mount.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1))


def _left_in(group: Path) -> int | None:
    """Memory left under the limit of a control group; None for one without a limit."""
    for limit, used in _LIMIT_AND_USED:
        with suppress(OSError, ValueError):
            left = int((group / limit).read_text("ascii")) - int((group / used).read_text("ascii"))
            return max(left + _reclaimable(group / "memory.stat"), 0)
    return None


def _reclaimable(stat: Path) -> int:
    """Bytes of page cache, which a control group counts as used, and which the system frees where memory is wanted."""
    with suppress(OSError, ValueError):
        values = dict(line.split() for line in stat.read_text(encoding="ascii").splitlines())
        return int(values.get("total_inactive_file") or values.get("inactive_file") or 0)
    return 0
