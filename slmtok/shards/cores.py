"""How many physical cores this process may use. Two threads on one core share its caches: they gain little here."""

from __future__ import annotations

import os
from pathlib import Path

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def physical_cores() -> int:
    """Cores, not hardware threads, among those that this process may run on; at least 1."""
    try:
        allowed = sorted(os.sched_getaffinity(0))
        return len({Path(_TOPOLOGY.format(cpu)).read_text(encoding="ascii") for cpu in allowed}) or 1
    except (OSError, AttributeError, ValueError):
        return os.cpu_count() or 1
