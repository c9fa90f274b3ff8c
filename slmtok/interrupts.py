"""Ctrl-C while a command is being imported: it ends the process quietly, since nothing has been done yet."""

from __future__ import annotations

import os
import signal

_INTERRUPTED = 130


def exit_on_interrupt() -> None:
    """Replaces Python's own handler, which would print a traceback; an ignored signal stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)


def _exit(number: int, frame: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)
