"""The start and the end of the programs `slmtok` and `slm`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from slmtok.interrupts import exit_on_interrupt, leave

NO_ADDRESS_SPACE = re.compile(
    r"\S+\.so\S*: (failed to map segment from shared object|cannot allocate memory(?! in static TLS)).*", re.I
)
"""What the dynamic linker says of a library that does not fit into the address space."""


def run_program(load: Callable[[], Callable[[], int]]) -> int:
    """Runs the command line of this process, whose function `load` imports, and returns its exit status.

    Where memory runs out before the modules that tell of it are there, it prints so.
    """
    exit_on_interrupt()
    try:
        run = load()
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and not NO_ADDRESS_SPACE.search(str(error)):
            raise
        sys.stderr.write("error: not enough memory to start\n  fix:   free memory, or raise its limit (ulimit -v)\n")
        return 1
    return leave(run())
