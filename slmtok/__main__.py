"""The command `slmtok`, and `python -m slmtok`."""

import sys

from slmtok.interrupts import exit_on_interrupt, leave


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    exit_on_interrupt()
    from slmtok.cli import main as run

    return leave(run())


if __name__ == "__main__":
    sys.exit(main())
