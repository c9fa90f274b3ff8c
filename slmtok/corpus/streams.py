"""Opening a file for reading, packed (.gz, .zst, .xz) or not. A truncated file is an error, never a shorter text."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from slmtok.corpus.paths import STDIN
from slmtok.errors import MissingExtra, MissingInput, SlmtokError, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

COMPRESSED = (".gz", ".zst", ".xz")


def bare_suffix(path: str) -> str:
    """The suffix that tells the format: what is left of the name when .gz, .zst or .xz is taken off."""
    name = Path(path)
    if name.suffix.lower() in COMPRESSED:
        name = name.with_suffix("")
    return name.suffix.lower()


def is_plain(path: str) -> bool:
    """Whether the file can be read without unpacking it, from a place on disk."""
    return path != STDIN and Path(path).suffix.lower() not in COMPRESSED


def stdin() -> BinaryIO:
    """Standard input. Raises `Unreadable` where it is closed."""
    if sys.stdin is None:
        raise Unreadable("cannot read stdin: it is closed", where="-", fix="name a file, or send one to stdin: < FILE")
    return sys.stdin.buffer


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """The unpacked bytes of a file. Raises `MissingInput`, `Unreadable` (also for damaged archives), `MissingExtra`."""
    try:
        if path == STDIN:
            yield stdin()
            return
        with Path(path).open("rb") as file:
            yield _unpacked(path, file)
    except SlmtokError:
        raise
    except FileNotFoundError:
        raise MissingInput(f"no file {path!r}", where="the corpus", fix="check the name", path=path) from None
    except EOFError as error:
        raise Unreadable(
            f"{path!r} ends in the middle of its compressed data", where=path, fix="fetch or pack it again", path=path
        ) from error
    except (OSError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        name = "stdin" if path == STDIN else repr(path)
        raise Unreadable(
            f"cannot read {name}: {reason}",
            where=path,
            fix="check that it is a file of the kind that its name says",
            path=path,
        ) from error


def _unpacked(path: str, file: BinaryIO) -> BinaryIO:
    suffix = Path(path).suffix.lower()
    if suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if suffix == ".xz":
        return cast("BinaryIO", io.BufferedReader(_XzStream(path, file), 1 << 20))
    if suffix == ".zst":
        return cast("BinaryIO", io.BufferedReader(_ZstdStream(path, file), 1 << 20))
    return file


class _XzStream(io.RawIOBase):
    """All streams of an .xz file, one after another."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        import lzma

        self._fault: type[Exception] = lzma.LZMAError
        self._path = path
        self._file = lzma.LZMAFile(file, format=lzma.FORMAT_XZ)  # noqa: SIM115  (it is closed with the file under it)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = self._file.read1(len(view))
        except self._fault as error:
            raise Unreadable(
                f"cannot read {self._path!r}: {error}", where=self._path, fix="fetch or pack it again", path=self._path
            ) from error
        view[: len(data)] = data
        return len(data)


class _ZstdStream(io.RawIOBase):
    """All frames of a .zst file, one after another."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtra(
                f"{path!r} needs the package zstandard, which is not installed",
                fix="pip install 'slmtok[data]'",
                package="zstandard",
            ) from None
        self._fresh: Callable[[], Any] = zstandard.ZstdDecompressor().decompressobj
        self._fault: type[Exception] = zstandard.ZstdError
        self._path = path
        self._file = file
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready:
            packed = self._packed or self._file.read(1 << 17)
            self._packed = b""
            if not packed:
                if self._frame is not None:
                    raise EOFError
                return 0
            self._ready = memoryview(self._unpack(packed))
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _unpack(self, packed: bytes) -> bytes:
        self._frame = self._frame or self._fresh()
        try:
            data: bytes = self._frame.decompress(packed)
        except self._fault as error:
            raise Unreadable(
                f"cannot read {self._path!r}: {error}", where=self._path, fix="fetch or pack it again", path=self._path
            ) from error
        if self._frame.eof:
            self._packed = self._frame.unused_data
            self._frame = None
        return data
