"""Opening files and standard input as bytes, compressed (.gz, .zst, .xz) or not."""

from __future__ import annotations

import codecs
import io
import os
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias, cast
from weakref import WeakKeyDictionary

from slmtok.corpus.encodings import utf8_evidence
from slmtok.corpus.paths import STDIN
from slmtok.document_limits import document_too_large
from slmtok.errors import Message, MissingInput, Setting, SlmtokError, Unreadable
from slmtok.file_content import content_of
from slmtok.files import check_unchanged, last_write

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from slmtok.options import ReadOptions

_COMPRESSIONS: dict[str, Literal["gz", "zst", "xz"]] = {".gz": "gz", ".zst": "zst", ".xz": "xz"}
COMPRESSED = tuple(_COMPRESSIONS)
_BLOCK_BYTES = 1 << 20
UTF_8 = "utf-8"


def compression(path: str) -> Literal["plain", "gz", "zst", "xz"]:
    """How a file is compressed, by its suffix."""
    return "plain" if path == STDIN else _COMPRESSIONS.get(_split(path)[1].lower(), "plain")


def bare_suffix(path: str) -> str:
    """The suffix that names the format: the last one before .gz, .zst or .xz."""
    name, suffix = _split(path)
    if suffix.lower() in COMPRESSED:
        suffix = _split(name)[1]
    return suffix.lower()


def _split(path: str) -> tuple[str, str]:
    """A name without its suffix, and the suffix. A corpus may have 100,000 files, and each is asked several times."""
    return os.path.splitext(path)  # noqa: PTH122  (a fifth of the time of pathlib)


def is_plain(path: str) -> bool:
    """Whether the source is an uncompressed file, not standard input."""
    return path != STDIN and compression(path) == "plain"


def is_mappable(path: str, options: ReadOptions) -> bool:
    """Whether the bytes of a file are its text, so that the engine can map it."""
    return options.encoding == UTF_8 and is_plain(path) and os.path.isfile(path)  # noqa: PTH113  (as of `_split`)


_stdin_heads: WeakKeyDictionary[BinaryIO, bytes] = WeakKeyDictionary()
"""What was available of a standard input before it was read: messages after its end tell its encoding by it."""


def stdin() -> BinaryIO:
    """Standard input. Raises `Unreadable` where it is closed."""
    if sys.stdin is None:
        raise Unreadable("cannot read stdin: it is closed", where="-", fix="name a file, or send one to stdin: < FILE")
    stream = sys.stdin.buffer
    if stream not in _stdin_heads:
        _stdin_heads[stream] = bytes(stream.peek()) if hasattr(stream, "peek") else b""
    return stream


_Pipe: TypeAlias = tuple[int, int]
"""The device and inode of a pipe; a shell gives several pipes one name in turn."""
_pipe_heads: dict[_Pipe, bytes] = {}
"""The beginning of the pipe that `look_into_pipe` opened."""
_unread_pipes: dict[_Pipe, BinaryIO] = {}
"""The same pipe until a reader takes it."""


def look_into_pipe(paths: Iterable[str]) -> None:
    """Opens the first pipe among some sources and waits for its first bytes, which `head_of_pipe` gives.

    Only the first: the writer of another pipe may wait until this one is read, and that one is looked into when its
    turn comes. Raises as `open_bytes`.
    """
    pipes = ((path, _pipe(path)) for path in paths if is_plain(path))
    path, pipe = next((each for each in pipes if each[1]), ("", None))
    if pipe is None or pipe in _unread_pipes:
        return
    with explained(path):
        stream = Path(path).open("rb")  # noqa: SIM115  (a reader closes it)
        head = stream.peek()
    close_pipe()
    _pipe_heads.clear()
    _pipe_heads[pipe], _unread_pipes[pipe] = head, stream


def head_of_next_pipe(path: str) -> bytes:
    """The beginning of a pipe whose turn comes, as `look_into_pipe` gives it; b"" of other sources."""
    pipe = _pipe(path)
    if pipe is None or (_unread_pipes and pipe not in _unread_pipes):
        # To look into this pipe would close the one that is still to be read.
        return b""
    look_into_pipe([path])
    return head_of_pipe(path)


def close_pipe() -> None:
    """Closes the pipe that `look_into_pipe` opened, unless a reader has it: its writer ends."""
    while _unread_pipes:
        _unread_pipes.popitem()[1].close()


def _pipe(path: str) -> _Pipe | None:
    """The pipe that a path names; None for files."""
    try:
        found = os.stat(path)  # noqa: PTH116  (a corpus may have 100,000 files)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISFIFO(found.st_mode) else None


def head_of_pipe(path: str) -> bytes:
    """The beginning of the pipe that `look_into_pipe` opened; b"" of another source."""
    pipe = _pipe(path) if _pipe_heads else None
    return _pipe_heads.get(pipe, b"") if pipe else b""


def _open_unread(path: str) -> BinaryIO:
    """A file; the pipe that `look_into_pipe` opened, from its first byte on."""
    pipe = _pipe(path) if _unread_pipes else None
    found = _unread_pipes.pop(pipe, None) if pipe else None
    return found or Path(path).open("rb")


@contextmanager
def open_bytes(path: str, encoding: str = UTF_8) -> Iterator[BinaryIO]:
    """The decompressed bytes of a file, in UTF-8 where `encoding` is another one.

    Raises `MissingInput`, `Unreadable` (also for damaged archives).
    """
    with explained(path):
        if encoding != UTF_8:
            yield open_decoded(path, encoding)
        elif path == STDIN:
            yield stdin()
        elif is_plain(path):
            with _open_unread(path) as file:
                yield file
        else:
            from slmtok._engine import DocumentReader

            reader = DocumentReader(path, "text", compression=compression(path), chunk_bytes=_BLOCK_BYTES)
            yield _stream(part.data for part in reader)


def open_head(path: str, size: int) -> bytes:
    """The first `size` bytes of a file, decompressed; of standard input at most what one read gives.

    Raises as `open_bytes`.
    """
    with explained(path):
        if path == STDIN:
            return _stdin_heads[stdin()][:size]
        if is_plain(path):
            with Path(path).open("rb", buffering=0) as file:
                return file.read(size)
        from slmtok._engine import DocumentReader

        part = next(DocumentReader(path, "text", compression=compression(path), chunk_bytes=size), None)
        return b"" if part is None else bytes(part.data)


def beginning_of(source: str, encoding: str, size: int) -> bytes:
    """About `size` bytes at the beginning of a file or of standard input, as UTF-8; none of other sources.

    Of standard input it takes none from the reader.
    """
    if source == STDIN:
        head = open_head(source, size)
        return head if encoding == UTF_8 else codecs.getincrementaldecoder(encoding)("ignore").decode(head).encode()
    if not os.path.isfile(source):  # noqa: PTH113  (as of `_split`)
        return b""
    with open_bytes(source, encoding) as stream:
        return stream.read(size)


def open_decoded(path: str, encoding: str) -> BinaryIO:
    """The text of a file in `encoding`, as UTF-8. Reading raises `Unreadable` for bytes that are not in it."""
    return _stream(_decoded(path, encoding))


def _decoded(path: str, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    begin = 0
    with open_bytes(path) as stream:
        while True:
            block = stream.read1(_BLOCK_BYTES)  # type: ignore[attr-defined]  # `read` would wait for more
            try:
                yield decoder.decode(block, final=not block).encode()
            except UnicodeError as error:
                raise Unreadable(
                    f"{'stdin' if path == STDIN else repr(path)} is not text in {encoding}: {error.args[-1]}",
                    where=f"{path}, {_place_of(error, begin, block)}",
                    fix=_other_encoding(path, block, encoding),
                    path=path,
                ) from None
            if not block:
                return
            begin += len(block)


def _place_of(error: UnicodeError, begin: int, block: bytes) -> str:
    """Where a text is not in its encoding. begin: of the block that was decoded."""
    if not isinstance(error, UnicodeDecodeError):
        return f"after byte {begin:,}"
    # The decoder puts what it kept of the block before in front.
    return f"byte {begin + error.start - (len(error.object) - len(block)):,}"


def _other_encoding(path: str, block: bytes, encoding: str) -> Message:
    """What reads a text that is not in the encoding that was named: what its beginning, or else this block, shows."""
    from slmtok.corpus.likely_encodings import decodes, encoding_remedy, superset_of

    head = block if path == STDIN else open_head(path, _BLOCK_BYTES)
    superset = superset_of(encoding)
    if superset is not None and decodes(head, superset) and decodes(block, superset, is_inside=True):
        return Setting("encoding", superset), f", which is {encoding} with more characters"
    content = content_of(head)
    if content is not None and content.encoded and isinstance(content.read_by, Setting):
        return (content.read_by,)
    if utf8_evidence(head).invalid:
        return "the text is not UTF-8; ", *encoding_remedy(head)
    return ("leave ", Setting("encoding"), " out: the text is UTF-8")


def open_stream(path: str, encoding: str = UTF_8) -> Any:
    """Standard input, a pipe, a device, or a file in another encoding, as a stream with `read1`.

    Python opens it, not the engine: a pipe without a writer blocks, and Python hears signals meanwhile.
    """
    if encoding != UTF_8:
        return open_decoded(path, encoding)
    return stdin() if path == STDIN else _stream(_blocks(_open_unread(path)))


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """What is available of a file, until its end, which closes it."""
    with file:
        while block := file.read1(_BLOCK_BYTES):  # type: ignore[attr-defined]
            yield block


def read_document(path: str, options: ReadOptions) -> bytes:
    """A file that is one document. Raises `DocumentTooLarge` above its limit, and as `open_bytes`."""
    limit = options.max_doc_bytes
    with open_bytes(path, options.encoding) as stream:
        if is_mappable(path, options):
            size = os.fstat(stream.fileno()).st_size
            if size > limit:
                raise document_too_large(path, limit)
            return stream.read(size)
        blocks: list[bytes] = []
        size = 0
        while block := stream.read(min(_BLOCK_BYTES, limit + 1 - size)):
            blocks.append(block)
            size += len(block)
            if size > limit:
                raise document_too_large(path, limit)
        return b"".join(blocks)


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


@contextmanager
def checked_for_changes(path: str) -> Iterator[None]:
    """Raises `Unreadable` in the place of another error where a program wrote to `path` in the meantime."""
    before = last_write(path)
    try:
        yield
    except SlmtokError:
        check_unchanged({path: before})
        raise


def _failure(path: str, os_error: int | None, reason: str) -> SlmtokError:
    import errno

    if os_error == errno.ENOENT:
        return MissingInput(f"no file {path!r}", where="the corpus", fix="check the name", path=path)
    return Unreadable(
        f"cannot read {'stdin' if path == STDIN else repr(path)}: {os.strerror(os_error) if os_error else reason}",
        where=path,
        fix=f"check who may read it: ls -l {shlex.quote(path)}"
        if os_error in (errno.EACCES, errno.EPERM)
        else "check that it is a file of the kind that its name says",
        path=path,
    )


def _stream(blocks: Iterable[bytes]) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Blocks(iter(blocks)), _BLOCK_BYTES))


class _Blocks(io.RawIOBase):
    """Blocks of bytes as a stream; the generator behind them, and the file that it reads, end with the stream."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        while not self._block:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._block = memoryview(block)
        size = min(len(view), len(self._block))
        view[:size] = self._block[:size]
        self._block = self._block[size:]
        return size
