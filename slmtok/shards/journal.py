"""`journal.jsonl`: the durable progress of a run, from which it resumes after it was killed.

Each line holds the shards closed since the line before, how far each open shard has got, the position in the corpus,
and the records skipped so far. A line is synced after the files that it describes; a torn last line is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from slmtok.corpus.batches import START, ChunkStart, FilePosition, Position
from slmtok.corpus.contents import UNUSUAL
from slmtok.shards.format import JOURNAL, SPLITS, Totals

_MAX_POSITION = 1 << 63
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

    def __init__(self, folder: Path) -> None:
        """Opens or creates it; `held` says whether another process holds it."""
        self._path = folder / JOURNAL
        self._file = self._path.open("ab")
        self.held = not _lock(self._file.fileno())
        self._written = 0
        self._failed = False

    def read(self) -> State:
        """The state that the valid lines give; what follows the last of them is truncated."""
        data = self._path.read_bytes()
        state, valid = State(), 0
        for row in data.split(b"\n")[:-1]:
            try:
                state = _apply(state, json.loads(row))
            except (ValueError, KeyError, TypeError, AttributeError):
                break
            valid += len(row) + 1
        if valid < len(data):
            os.truncate(self._path, valid)
        self._written = len(state.shards)
        return state

    def write(self, state: State) -> None:
        """Appends one line and syncs it. After a failed write later ones are ignored."""
        if self._failed:
            return
        self._failed = True
        position, chunk = state.position, state.position.chunk
        entry = {
            "shards": list(state.shards[self._written :]),
            "open": {split: totals.to_json() for split, totals in state.open.items()},
            "cursor": [position.source, position.record],
            "unit": chunk and chunk.number,
            "place": chunk and chunk.position,
            "first": chunk.record if chunk else 0,
            "skipped": state.skipped,
            "unusual": state.unusual,
        }
        line = json.dumps(entry, sort_keys=True, separators=(",", ":"), allow_nan=False)
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._written = len(state.shards)
        self._failed = False

    def remove(self) -> None:
        """Deletes the file. Windows deletes no open file, so there it is closed first."""
        try:
            self._path.unlink(missing_ok=True)
        except PermissionError:
            self.close()
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes the file, which releases the lock."""
        with suppress(OSError):
            # A line that a full disk did not take is a torn line.
            self._file.close()


def _apply(state: State, entry: dict[str, Any]) -> State:
    """The state after one line."""
    chunk = None
    if entry["unit"] is not None:
        chunk = ChunkStart(int(entry["unit"]), int(entry["first"]), _file_position(entry.get("place")))
    source, record = map(int, entry["cursor"])
    return State(
        shards=(*state.shards, *entry["shards"]),
        open={split: Totals.from_json(entry["open"][split]) for split in SPLITS},
        position=Position(source, record, chunk),
        skipped=int(entry["skipped"]),
        unusual=tuple(map(int, entry["unusual"])),
    )


def _file_position(numbers: list[int] | None) -> FilePosition | None:
    found = None if numbers is None else FilePosition(*map(int, numbers))
    invalid = found is not None and (min(found) < 0 or max(found) >= _MAX_POSITION)
    if invalid or (found is not None and (found.line < 1 or found.uncompressed > found.offset)):
        raise ValueError(f"not a position in a file: {numbers}")
    return found


def _lock(descriptor: int) -> bool:
    """Whether this process now holds the lock of an open file; closing the file releases it."""
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
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
    finally:
        os.close(descriptor)
