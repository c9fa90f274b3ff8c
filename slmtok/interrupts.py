"""The end of a program by a signal. While a module is imported it ends at once.

An exception would be lost there: some packages catch whatever an import raises, and C++ code ends the process with it.
No `finally` runs then, so temporary files are removed by `at_exit`.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143
STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, a request to end, and a terminal that is closed, which ends a command as such a request does."""
_IMPORT = "<frozen importlib._bootstrap>"
at_exit: set[Callable[[], None]] = set()
"""Functions that are called before a signal ends the program."""


def exit_on_interrupt() -> None:
    """Replaces Python's own handler, which would print a traceback; an ignored signal stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)


def exits_on_interrupt() -> bool:
    """Whether Ctrl-C ends the program at once: `exit_on_interrupt` was called, as the programs do at their start."""
    return signal.getsignal(signal.SIGINT) is _exit


def exit_if_importing(number: int, frame: FrameType | None) -> None:
    """Ends the program, as a kill would, if `frame` is inside an import."""
    while frame is not None:
        if frame.f_code.co_filename == _IMPORT:
            _exit(number, frame)
        frame = frame.f_back


def leave(status: int) -> int:
    """Ends the program after a signal without waiting for threads and for the end of torch, which takes a second.

    Gives any other status back.
    """
    if status in (INTERRUPTED, TERMINATED):
        _clean_up()
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
            sys.stdout.flush()
        os._exit(status)
    return status


def _clean_up() -> None:
    for call in tuple(at_exit):
        call()


def _exit(number: int, frame: object) -> None:
    is_interrupted = number == signal.SIGINT
    _clean_up()
    with suppress(OSError):
        # A terminal that was closed takes none.
        os.write(2, b"interrupted\n" if is_interrupted else b"terminated\n")
    os._exit(INTERRUPTED if is_interrupted else TERMINATED)
