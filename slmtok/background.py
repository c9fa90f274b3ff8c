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

    thread = threading.Thread(target=run, name="slmtok-background")
    thread.start()
    try:
        yield result
    finally:
        thread.join()
