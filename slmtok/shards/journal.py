"""`journal.jsonl`: the durable progress of a run, from which it resumes after it was killed.

The first line names the plan and the state of the sources. Each other line holds the shards closed since the line
before, how far each open shard has got, the position in the corpus, and the records skipped so far. Each carries a
digest of itself and of the line before it, so a line that was edited, removed or moved is noticed. A line is synced
after the files that it describes; a torn last line is dropped.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from slmtok import atomic, schema
from slmtok.corpus.batches import START, ChunkStart, FilePosition, Position
from slmtok.corpus.contents import UNUSUAL
from slmtok.errors import Setting, Unreadable
from slmtok.json_files import read_bounded
from slmtok.shards.format import ENTRY, JOURNAL, SPLITS, TOTALS, Totals, corrupt, refuse_link, shard_name
from slmtok.strict_json import FaultError, parse_object

_MAX_DEPTH = 4
_FIRST_LINE = schema.table(dict.fromkeys(("plan", "sources", "sha256"), schema.digest))
_LINE = schema.table(
    {
        "shards": schema.array(ENTRY),
        "open": schema.table(dict.fromkeys(SPLITS, TOTALS)),
        "cursor": schema.array(schema.integer(), length=2),
        "unit": schema.nullable(schema.integer()),
        "place": schema.nullable(schema.array(schema.integer(), length=4)),
        "first": schema.integer(),
        "skipped": schema.integer(),
        "unusual": schema.array(schema.integer(), length=len(UNUSUAL)),
        "sha256": schema.digest,
    }
)
_LOCKED_BYTE = 1 << 30
"""The byte that Windows locks: beyond the end of any journal, since a locked byte cannot be read by others."""


@dataclass(frozen=True)
class State:
    """How far a run has got: closed shards, the open shard of each split, and the position in the corpus.

    unusual: how often the packed text has each of the characters of `contents.UNUSUAL`. share: the part of the corpus
    that has been read, for progress; None if unknown.
    """

    shards: tuple[dict[str, Any], ...] = ()
    open: dict[str, Totals] = field(default_factory=lambda: dict.fromkeys(SPLITS, Totals()))
    position: Position = START
    skipped: int = 0
    unusual: tuple[int, ...] = (0,) * len(UNUSUAL)
    share: float | None = None

    def add_unusual(self, numbers: Iterable[int]) -> State:
        """The state after text with so many of each."""
        return replace(self, unusual=tuple(map(sum, zip(self.unusual, numbers, strict=True))))

    def closed(self, split: str) -> list[dict[str, Any]]:
        """The closed shards of a split, in order."""
        return [shard for shard in self.shards if shard["split"] == split]

    def totals(self, split: str) -> Totals:
        """The totals of a split, its open shard included."""
        return sum(map(Totals.from_json, self.closed(split)), self.open[split])


class Journal:
    """The journal of one folder, open for appending. One process at a time holds it."""

    stamp: str | None = None
    """The state of the sources when their documents were last known to be those of the journal."""

    def __init__(self, folder: Path) -> None:
        """Opens or creates it; `held` says whether another process holds it."""
        self._path = folder / JOURNAL
        refuse_link(self._path, f"mv {shlex.quote(str(self._path))} elsewhere, and run the same command again")
        self._file, is_ours = _open_locked(self._path)
        self.held = not is_ours
        self._written = 0
        self._failed = False
        self._last = ""
        """The digest of the last line."""

    def check_in_place(self) -> None:
        """Raises `Unreadable` where the folder is not the one whose journal is open: it was removed or replaced."""
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(os.fstat(self._file.fileno()), self._path.stat()):
                return
        raise Unreadable(
            f"the folder {str(self._path.parent)!r} was removed or replaced while it was written",
            where=str(self._path.parent),
            fix="run the same command again, and leave the folder in its place",
            path=str(self._path.parent),
        )

    def read(self, plan: bytes) -> State:
        """The state that the lines give. A torn last line is truncated.

        Raises `CorruptShard` for a damaged line before the last one, and for lines of another plan.
        """
        fix = ("restore the file, or ", Setting("force", True), " starts again")
        try:
            data = read_bounded(self._path, "journal")
        except FaultError as fault:
            raise corrupt(self._path, str(fault), kind="journal", fix=fix) from None
        rows, state, valid = data.split(b"\n")[:-1], State(), 0
        for number, row in enumerate(rows, 1):
            try:
                state = self._take(row, state, hashlib.sha256(plan).hexdigest())
            except FaultError as fault:
                if number < len(rows):
                    raise corrupt(self._path, f"line {number}: {fault}", kind="journal", fix=fix) from None
                break
            valid += len(row) + 1
        if valid < len(data):
            os.truncate(self._path, valid)
        self._written = len(state.shards)
        return state

    def _take(self, row: bytes, state: State, plan: str) -> State:
        """The state after one line."""
        entry = parse_object(row, _MAX_DEPTH)
        if not self._last:
            _FIRST_LINE(entry, "")
            if entry["plan"] != plan:
                raise FaultError("it belongs to another plan.json")
            self.stamp = entry["sources"]
        elif "plan" in entry:
            _FIRST_LINE(entry, "")
            self.stamp = entry["sources"]
        else:
            _LINE(entry, "")
            state = _apply(state, entry)
        if entry.pop("sha256") != self._digest(entry):
            raise FaultError("it does not match its sha256; it, or the line before, was changed")
        self._last = self._digest(entry)
        return state

    def _digest(self, entry: Mapping[str, Any]) -> str:
        return hashlib.sha256((self._last + _dumps(entry)).encode()).hexdigest()

    def shard_names(self) -> set[str]:
        """The shards that any line names, damaged lines included where they are JSON."""
        names: set[str] = set()
        data = b""
        with suppress(FaultError):
            data = read_bounded(self._path, "journal")
        for row in data.split(b"\n"):
            with suppress(FaultError):
                content = parse_object(row, _MAX_DEPTH)
                schema.table({}, {"shards": schema.array(ENTRY)}, is_open=True)(content, "")
                names.update(entry["name"] for entry in content.get("shards", []))
        return names

    def begin(self, plan: bytes, stamp: str) -> None:
        """Appends the line that names the plan and the state of the sources."""
        self._append({"plan": hashlib.sha256(plan).hexdigest(), "sources": stamp})
        self.stamp = stamp

    def write(self, state: State) -> None:
        """Appends one line and syncs it. After a failed write later ones are ignored."""
        position, chunk = state.position, state.position.chunk
        self._append(
            {
                "shards": list(state.shards[self._written :]),
                "open": {split: totals.to_json() for split, totals in state.open.items()},
                "cursor": [position.source, position.record],
                "unit": chunk and chunk.number,
                "place": chunk and chunk.position,
                "first": chunk.record if chunk else 0,
                "skipped": state.skipped,
                "unusual": state.unusual,
            }
        )
        self._written = len(state.shards)

    def _append(self, entry: Mapping[str, Any]) -> None:
        if self._failed:
            return
        self._failed = True
        digest = self._digest(entry)
        self._file.write(_dumps({**entry, "sha256": digest}).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._last = digest
        self._failed = False

    def remove(self) -> None:
        """Deletes the file. Windows deletes no open file, so there it is closed first."""
        try:
            self._path.unlink(missing_ok=True)
        except PermissionError:
            self._file.close()
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes the file, which releases the lock; removes one without a line."""
        try:
            with suppress(OSError):
                if not self.held and not self._path.stat().st_size:
                    self.remove()
        finally:
            with suppress(OSError):
                # A line that a full disk did not take is a torn line.
                self._file.close()


def _dumps(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _apply(state: State, entry: dict[str, Any]) -> State:
    """The state after one line. Raises `FaultError`."""
    for shard in entry["shards"]:
        if shard["name"] != shard_name(shard["split"], len(state.closed(shard["split"]))):
            raise FaultError(f"the shard {shard['name']!r} is not the next one")
        state = replace(state, shards=(*state.shards, shard))
    chunk = None
    if entry["unit"] is not None:
        chunk = ChunkStart(entry["unit"], entry["first"], _file_position(entry["place"]))
    source, record = entry["cursor"]
    return State(
        shards=state.shards,
        open={split: Totals.from_json(entry["open"][split]) for split in SPLITS},
        position=Position(source, record, chunk),
        skipped=entry["skipped"],
        unusual=tuple(entry["unusual"]),
    )


def _file_position(numbers: list[int] | None) -> FilePosition | None:
    found = None if numbers is None else FilePosition(*numbers)
    if found is not None and (found.line < 1 or found.uncompressed > found.offset):
        raise FaultError(f"{numbers} is not a position in a file")
    return found


def _open_locked(path: Path) -> tuple[IO[bytes], bool]:
    """The file, open for appending, and whether this process now holds its lock; closing the file releases it."""
    may_be_linked = True
    while True:
        file = path.open("ab")
        if not _lock(file.fileno()):
            return file, False
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                if not may_be_linked or os.fstat(file.fileno()).st_nlink == 1:
                    return file, True
                may_be_linked = False
                # Windows replaces no open file. Elsewhere the lock is held until the copy has the name.
                with suppress(PermissionError):
                    atomic.copy_if_linked(path)
        # It was copied, or another process removed it between opening and locking it.
        file.close()


def _lock(descriptor: int) -> bool:
    """Whether this process now holds the lock of an open file; closing the file releases it.

    A file system without locks is no reason to refuse the work: then nothing keeps a second process out.
    """
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def _lock_on_windows(descriptor: int) -> bool:
    msvcrt: Any = import_module("msvcrt")
    # It locks from the current position; the file is open for appending, so writes do not depend on the position.
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder durable, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Network mounts and others sync no folder.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise
    finally:
        os.close(descriptor)
