"""Signals: they end a program, at once while a module is imported, and are heard during long calls of the engine.

An exception would be lost there: some packages catch whatever an import raises, and C++ code ends the process with it.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

INTERRUPTED, TERMINATED = 130, 143
_IMPORT = "<frozen importlib._bootstrap>"


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


def run_in_thread(call: Callable[[], T]) -> T:
    """The result of a call of the engine that does not check for signals; this thread hears them meanwhile.

    Where a signal raises, the call goes on without effect until it ends.
    """
    from concurrent.futures import Future

    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result()


def leave(status: int) -> int:
    """Ends the program after a signal without waiting for threads and for the end of torch, which takes a second.

    Gives any other status back.
    """
    if status in (INTERRUPTED, TERMINATED):
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
            sys.stdout.flush()
        os._exit(status)
    return status


def _exit(number: int, frame: object) -> None:
    is_terminated = number == signal.SIGTERM
    os.write(2, b"terminated\n" if is_terminated else b"interrupted\n")
    os._exit(TERMINATED if is_terminated else INTERRUPTED)
