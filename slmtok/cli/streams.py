"""Standard streams that may be closed, full, or pipes without a reader.

A failed write to stdout raises `OSError`. A failed write to stderr is dropped: there is no stream left to report it on.
The interpreter's own flush at exit must not fail on either. stdin is opened where it is read (`slmtok.corpus.streams`).
"""

from __future__ import annotations

import errno
import io
import os
import shlex
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from slmtok.errors import OptionError
from slmtok.path_arguments import free_name

if TYPE_CHECKING:
    from typing_extensions import Buffer


@contextmanager
def guarded() -> Iterator[None]:
    """Replaces missing or failing standard streams for the duration of the block."""
    before = sys.stdout, sys.stderr
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        _reserve_descriptors()
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_ClosedStdout()), encoding="utf-8")
    nonblocking = [stream for stream in (sys.stdout, sys.stderr) if _set_blocking(stream)]
    sys.stderr = cast("TextIO", _LossyStderr(sys.stderr))
    try:
        yield
    finally:
        for stream in nonblocking:
            with suppress(OSError, ValueError):
                os.set_blocking(stream.fileno(), False)
        sys.stdout, sys.stderr = before


def discard_stdout() -> None:
    """Points stdout at the null device, so that the interpreter's flush at exit succeeds."""
    _redirect_to_null(sys.stdout)


def kind_of_stream(stream: TextIO | None) -> str | None:
    """file, pipe, device (such as a terminal or /dev/null) or other; None for a stream that is closed."""
    kinds = {stat.S_IFREG: "file", stat.S_IFIFO: "pipe", stat.S_IFCHR: "device"}
    try:
        return None if stream is None else kinds.get(stat.S_IFMT(os.fstat(stream.fileno()).st_mode), "other")
    except (OSError, ValueError):
        return None


def name_of_stdin() -> str | None:
    """As `name_of_stream`, of stdin."""
    return name_of_stream(sys.stdin)


def name_of_stream(stream: Any) -> str | None:
    """The name of the file that a stream is, as one types it in the working folder; None where the system has none."""
    try:
        path = os.readlink(f"/proc/self/fd/{stream.fileno()}")  # noqa: PTH115
    except (OSError, ValueError, AttributeError):
        return None
    beside = os.path.relpath(path) if os.path.isfile(path) else None  # noqa: PTH113
    return path if beside and beside.startswith(os.pardir) else beside


def is_stdout(path: str) -> bool:
    """Whether a regular file is stdout itself, as in `slmtok encode a.txt > a.txt`; `-` is stdin."""
    try:
        output = os.fstat(sys.stdout.fileno())
        if not stat.S_ISREG(output.st_mode):
            return False
        source = os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)  # noqa: PTH116 (a corpus may be large)
    except (OSError, ValueError, AttributeError):
        return False
    return os.path.samestat(source, output)


def refuse_stdout(path: str, command: str, *, is_named: bool = True) -> None:
    """Raises `OptionError` for an input that is stdout itself; the fix is the command with another stdout.

    is_named: an argument is the file, rather than a folder or a glob that finds it.
    """
    if not is_stdout(path):
        return
    new = free_name("result.txt" if path == "-" else f"{path}.new")
    if not is_named:
        new = free_name(os.path.join("..", os.path.basename(path)))  # noqa: PTH118, PTH119 (outside a folder or glob of names)
    raise OptionError(
        f"the input {'stdin' if path == '-' else repr(path)} is also stdout",
        where="the shell empties a file behind > before the command runs: restore it first" if is_named else None,
        limit="a command reads no file that it writes",
        fix=f"{command} > {shlex.quote(new)}",
        option="output",
        path=path,
    )


def _set_blocking(stream: TextIO) -> bool:
    """Whether a stream did not block, as some programs leave a shared pipe: text that it takes later would be lost."""
    # `os` has no such function for pipes of Windows.
    with suppress(OSError, ValueError, AttributeError):
        if not os.get_blocking(stream.fileno()):
            os.set_blocking(stream.fileno(), True)
            return True
    return False


def _redirect_to_null(stream: Any) -> None:
    with suppress(OSError, ValueError), open(os.devnull, "wb") as null:  # noqa: PTH123 (os.devnull is no path)
        os.dup2(null.fileno(), stream.fileno())


def _reserve_descriptors() -> None:
    """Opens the null device on closed descriptors 0 to 2; otherwise the next file opened would take such a number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


class _ClosedStdout(io.RawIOBase):
    """A missing stdout: the first write raises, later ones (the interpreter's own flush) succeed."""

    _reported = False

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        if not self._reported:
            self._reported = True
            raise OSError(errno.EBADF, "it is closed")
        return memoryview(data).nbytes


class _LossyStderr:
    """stderr whose writes never raise; every other attribute is the stream's own."""

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
                _redirect_to_null(self._stream)
        return len(text)

    def flush(self) -> None:
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                _redirect_to_null(self._stream)
