"""Opening files and standard input as bytes, compressed (.gz, .zst, .xz) or not."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

from slmtok.corpus.paths import STDIN
from slmtok.errors import MissingInput, SlmtokError, Unreadable

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from slmtok._engine import DocumentReader

_COMPRESSIONS: dict[str, Literal["gz", "zst", "xz"]] = {".gz": "gz", ".zst": "zst", ".xz": "xz"}
COMPRESSED = tuple(_COMPRESSIONS)
_BLOCK_BYTES = 1 << 20


def compression(path: str) -> Literal["plain", "gz", "zst", "xz"]:
    """How a file is compressed, by its suffix."""
    return "plain" if path == STDIN else _COMPRESSIONS.get(Path(path).suffix.lower(), "plain")


def bare_suffix(path: str) -> str:
    """The suffix that names the format: the last one before .gz, .zst or .xz."""
    name = Path(path)
    if name.suffix.lower() in COMPRESSED:
        name = name.with_suffix("")
    return name.suffix.lower()


def is_plain(path: str) -> bool:
    """Whether the source is an uncompressed file, not standard input."""
    return path != STDIN and compression(path) == "plain"


def stdin() -> BinaryIO:
    """Standard input. Raises `Unreadable` where it is closed."""
    if sys.stdin is None:
        raise Unreadable("cannot read stdin: it is closed", where="-", fix="name a file, or send one to stdin: < FILE")
    return sys.stdin.buffer


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """The decompressed bytes of a file. Raises `MissingInput`, `Unreadable` (also for damaged archives)."""
    with explained(path):
        if path == STDIN:
            yield stdin()
        elif is_plain(path):
            with Path(path).open("rb") as file:
                yield file
        else:
            from slmtok._engine import DocumentReader

            reader = DocumentReader(path, "text", compression=compression(path), chunk_bytes=_BLOCK_BYTES)
            yield cast("BinaryIO", io.BufferedReader(_Decompressed(reader), _BLOCK_BYTES))


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Translates a failure to open or read `path` into `MissingInput` or `Unreadable`."""
    try:
        yield
    except SlmtokError as error:
        if isinstance(error, Unreadable) and error.fields.get("path") == path and "os_error" in error.fields:
            raise _failure(path, cast("int | None", error.fields["os_error"]), str(error.fields["reason"])) from error
        raise
    except OSError as error:
        raise _failure(path, error.errno, error.strerror or str(error)) from error


def _failure(path: str, os_error: int | None, reason: str) -> SlmtokError:
    import errno
    import os

    if os_error == errno.ENOENT:
        return MissingInput(f"no file {path!r}", where="the corpus", fix="check the name", path=path)
    return Unreadable(
        f"cannot read {'stdin' if path == STDIN else repr(path)}: {os.strerror(os_error) if os_error else reason}",
        where=path,
        fix="check that it is a file of the kind that its name says",
        path=path,
    )


class _Decompressed(io.RawIOBase):
    """The parts of a file that the engine decompresses, as a stream."""

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader
        self._block = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        while not self._block:
            part = next(self._reader, None)
            if part is None:
                return 0
            self._block = memoryview(part.data)
        size = min(len(view), len(self._block))
        view[:size] = self._block[:size]
        self._block = self._block[size:]
        return size
