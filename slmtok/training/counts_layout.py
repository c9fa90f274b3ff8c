"""The bytes of a counts file around its body: head, digests, lineage. docs/formats/counts.md specifies them.

The body (blocks, index, sums) is the engine's. Here a file is written whole or not at all, and read with suspicion: its
checksum is verified before anything in it is believed.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from slmtok import atomic
from slmtok.errors import CorruptFile, MissingInput, Unreadable, UnsupportedVersion

MAGIC = b"SLMCOUNT"
VERSION = 1
MAX_HEAD = 64 << 20
_HEAD = struct.Struct("<8sII")
_DIGEST = 32
_TAIL = 8 + _DIGEST
_CHUNK = 1 << 20

_Path: TypeAlias = "str | os.PathLike[str]"


class Sums(NamedTuple):
    """What stands behind the blocks: different pieces, pieces of each column, and the same of what was pruned."""

    distinct: int
    pieces: list[int]
    pruned_distinct: int
    pruned_pieces: list[int]


Put: TypeAlias = Callable[[bytes], object]
WriteBody: TypeAlias = "Callable[[Put], tuple[int, list[int], int, list[int]]]"


@dataclass(frozen=True)
class Layout:
    """Where things are in one sound file."""

    path: str
    head: bytes
    body: tuple[int, int]
    digest: str
    """Of all but lineage and checksum: equal counts of equal corpora have it in common, however they were merged."""
    lineage: tuple[str, ...]
    """Digests of the counts that were merged into this, sorted; empty where it was counted at once."""
    size: int

    @property
    def leaves(self) -> tuple[str, ...]:
        """The counts that went into this; itself where nothing else did."""
        return self.lineage or (self.digest,)


def write(target: _Path, head: bytes, body: WriteBody, lineage: Iterable[str], *, force: bool) -> tuple[str, Sums]:
    """Writes a file whole or not at all; gives its digest and sums. Raises what `slmtok.atomic.outputs` raises."""
    with atomic.outputs(target, force=force) as (temporary,), temporary.open("wb") as file:
        state = hashlib.sha256()

        def put(data: bytes) -> None:
            file.write(data)
            state.update(data)

        put(_HEAD.pack(MAGIC, VERSION, len(head)) + head)
        sums = Sums(*body(put))
        digest = state.digest()
        leaves = sorted(lineage)
        put(digest)
        put(b"".join(map(bytes.fromhex, [] if leaves == [digest.hex()] else leaves)))
        put((0 if leaves == [digest.hex()] else len(leaves)).to_bytes(8, "little"))
        file.write(state.digest())
        file.flush()
        os.fsync(file.fileno())
    return digest.hex(), sums


def is_counts(path: _Path) -> bool:
    """Whether a file begins as a counts file does. A pipe is none: what is read of it would be gone."""
    if not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read(path: _Path) -> Layout:
    """Checks a file against its checksum. Raises `MissingInput`, `Unreadable`, `CorruptFile`, `UnsupportedVersion`."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            return _read(file, name, os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise MissingInput(f"no file {name!r}", where="counts files", fix="check the name", path=name) from None
    except (CorruptFile, UnsupportedVersion):
        raise
    except OSError as error:
        raise Unreadable(
            f"cannot read {name!r}: {error.strerror or error}",
            where=name,
            fix="name a file that may be read",
            path=name,
            os_error=error.errno,
        ) from error


def _read(file: BinaryIO, name: str, size: int) -> Layout:
    start = file.read(_HEAD.size)
    if not start.startswith(MAGIC):
        raise corrupt(name, "it does not begin as one", fix="slmtok count CORPUS -o all.counts makes one")
    if size < _HEAD.size + _DIGEST + _TAIL:
        raise corrupt(name, f"it ends after {size} bytes")
    _, version, head_length = _HEAD.unpack(start)
    if version != VERSION:
        raise UnsupportedVersion(
            f"{name} has version {version}",
            limit=f"this package reads version {VERSION}",
            fix="install a newer slmtok" if version > VERSION else "count again",
            path=name,
        )
    file.seek(size - _TAIL)
    tail = file.read(_TAIL)
    number = int.from_bytes(tail[:8], "little")
    body = _HEAD.size + head_length, size - _TAIL - number * _DIGEST - _DIGEST
    if head_length > MAX_HEAD or body[0] > body[1]:
        raise corrupt(name, "its lengths exceed its size")
    file.seek(0)
    digest, whole = _hashed(file, body[1], size - _DIGEST)
    if whole != tail[8:]:
        raise corrupt(name, "its checksum does not match; it was damaged or cut short")
    file.seek(_HEAD.size)
    head = file.read(head_length)
    file.seek(body[1])
    stored, lineage = file.read(_DIGEST), file.read(number * _DIGEST)
    if stored != digest:
        raise corrupt(name, "its digest is not that of its content")
    leaves = tuple(lineage[at : at + _DIGEST].hex() for at in range(0, len(lineage), _DIGEST))
    return Layout(name, head, body, digest.hex(), leaves, size)


def _hashed(file: BinaryIO, first: int, last: int) -> tuple[bytes, bytes]:
    """sha256 of the first `first` and of the first `last` bytes."""
    state = hashlib.sha256()
    done, inner = 0, b""
    while done < last:
        end = first if done < first else last
        block = file.read(min(_CHUNK, end - done))
        if not block:
            break
        state.update(block)
        done += len(block)
        if done == first:
            inner = state.digest()
    return inner, state.digest()


def corrupt(name: str, fault: str, fix: str = "restore the file from where it was made, or count again") -> CorruptFile:
    """The error for a file that is no sound counts file."""
    return CorruptFile(f"{name} is not a valid counts file: {fault}", where=name, fix=fix, path=name)


def read_sums(layout: Layout, columns: int) -> Sums:
    """The sums of a file of so many columns. Raises `CorruptFile`."""
    length = 8 * (2 * columns + 3)
    if layout.body[1] - layout.body[0] < length:
        raise corrupt(layout.path, "it is too short for its sums")
    with Path(layout.path).open("rb") as file:
        file.seek(layout.body[1] - length)
        numbers = struct.unpack(f"<{2 * columns + 3}Q", file.read(length))
    return Sums(
        numbers[0], list(numbers[1 : columns + 1]), numbers[columns + 1], list(numbers[columns + 2 : 2 * columns + 2])
    )


def body_of(layout: Layout, columns: Sequence[int]) -> tuple[str, int, int, Sequence[int]]:
    """What the engine is told of a file."""
    return layout.path, *layout.body, columns
