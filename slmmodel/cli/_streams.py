"""stdout and stderr as a command may find them: closed, full, or with a reader that has gone.

What cannot be written to stdout is an error; what cannot be written to stderr is lost, since nobody is left to tell.
Python itself must not stumble over either at its end.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from typing_extensions import Buffer


@contextmanager
def usable() -> Iterator[None]:
    """While it lasts, `sys.stdout` and `sys.stderr` can be written to, or say why not by an `OSError`."""
    before = sys.stdout, sys.stderr
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        _reserve_numbers()
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed()), encoding="utf-8")
    sys.stderr = cast("TextIO", _Patient(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def drop_stdout() -> None:
    """What is still to be written to stdout goes nowhere, so that Python does not complain at its own end."""
    _drop(sys.stdout)


def _drop(stream: Any) -> None:
    """Points the stream's file at the null device."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123 (os.devnull is no path)
        os.dup2(nowhere.fileno(), stream.fileno())


def _reserve_numbers() -> None:
    """Gives the null device the numbers of closed streams: the next file that is opened would be taken for one."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


class _Closed(io.RawIOBase):
    """stdout that is not there: the first write tells, later ones (Python's own, at its end) are silent."""

    told = False

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        if not self.told:
            self.told = True
            raise OSError(errno.EBADF, "it is closed")
        return memoryview(data).nbytes


class _Patient:
    """stderr that never raises. All else is the stream's own."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> int:
        if self._stream is not None:
            try:
                self._stream.write(text)
            except (OSError, ValueError):
                _drop(self._stream)
        return len(text)

    def flush(self) -> None:
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                _drop(self._stream)
