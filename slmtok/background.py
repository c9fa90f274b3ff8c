"""Work in a thread beside the caller's. `concurrent.futures` does the same, and takes 5 ms of a command to import."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def in_background(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Starts `work` in a thread, and gives a function that waits for its result, or raises its error.

    The block ends when the work has.
    """
    thread, result = _start(work, daemon=False)
    try:
        yield result
    finally:
        thread.join()


def run_in_thread(call: Callable[[], T]) -> T:
    """The result of a call of the engine that does not check for signals; this thread hears them meanwhile.

    Where a signal raises, the call goes on without effect until it ends.
    """
    return _start(call, daemon=True)[1]()


def _start(work: Callable[[], T], *, daemon: bool) -> tuple[threading.Thread, Callable[[], T]]:
    """The thread, and a function that waits for the result. A daemon does not keep the process from its end."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    def result() -> T:
        thread.join()
        for error in errors:
            raise error
        return results[0]

    thread = threading.Thread(target=run, name="slmtok-background", daemon=daemon)
    thread.start()
    return thread, result
