"""The command `slm`, and `python -m slmmodel`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from slmtok.entry_point import run_program


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    return run_program(_load)


def _load() -> Callable[[], int]:
    from slmmodel.cli import main

    return main


if __name__ == "__main__":
    sys.exit(main())
