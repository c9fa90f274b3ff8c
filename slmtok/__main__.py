"""The command `slmtok`, and `python -m slmtok`."""

import os
import sys

from slmtok.interrupts import exit_on_interrupt, leave


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    exit_on_interrupt()
    # No command does linear algebra, and the threads that numpy starts for it take a third of its import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from slmtok.cli import main as run

    return leave(run())


if __name__ == "__main__":
    sys.exit(main())
