"""The command `slmtok`, and `python -m slmtok`."""

import os
import sys
from collections.abc import Callable

from slmtok.entry_point import run_program


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    # No command does linear algebra, and the threads that numpy starts for it take a third of its import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return run_program(_load)


def _load() -> Callable[[], int]:
    from slmtok.cli import main

    return main


if __name__ == "__main__":
    sys.exit(main())
