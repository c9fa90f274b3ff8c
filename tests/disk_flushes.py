"""Without waiting for the disk: only a loss of power tells a file that was flushed to it from one that was not.

A flush takes some milliseconds, and the tests write tens of thousands of files. Tests of flushes replace `os.fsync` on
their own, and those of faults let the system calls fail.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable


def unflushed(fsync: Callable[[int], None]) -> Callable[[int], None]:
    """`os.fsync` that checks the descriptor, and flushes neither files nor folders."""

    def check(descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            # Pipes and devices refuse it.
            fsync(descriptor)

    return check
