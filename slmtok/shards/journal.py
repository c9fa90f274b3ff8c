"""`journal.jsonl`: what a run that was killed may rely on. Each line stands for itself and for all before it.

A line holds the shards that were closed since the line before, how far each open shard had got, the place in the
corpus, and the records left out until there. A last line that is torn is dropped. It is synced after the files that
it speaks of.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slmtok.shards import canonical
from slmtok.shards.header import JOURNAL, SPLITS
from slmtok.shards.open_shard import Totals
from slmtok.shards.units import START, Cursor, Place, Position

_MOST = 1 << 63


@dataclass(frozen=True)
class State:
    """How far a run has got: shards that are whole, what is in the open one of each split, and where it stands.

    share: the part of the corpus that has been read, for those who watch; None where nobody knows.
    """

    shards: tuple[dict[str, Any], ...] = ()
    open: dict[str, Totals] = field(default_factory=lambda: dict.fromkeys(SPLITS, Totals()))
    cursor: Cursor = START
    skipped: int = 0
    share: float | None = None

    def closed(self, split: str) -> list[dict[str, Any]]:
        """The whole shards of a split, in order."""
        return [shard for shard in self.shards if shard["split"] == split]

    def totals(self, split: str) -> Totals:
        """Everything of a split, the open shard included."""
        total = self.open[split]
        for shard in self.closed(split):
            total = total.plus(Totals.from_json(shard))
        return total


class Journal:
    """The journal of one folder, open for appending. One process at a time holds it."""

    def __init__(self, folder: Path) -> None:
        """Opens or creates it; `held` tells whether another process has it."""
        self._path = folder / JOURNAL
        self._file = self._path.open("ab")
        self.held = not _lock(self._file.fileno())
        self._written = 0
        self._failed = False

    def read(self) -> State:
        """The state that the sound lines give; what follows the last of them is cut off."""
        data = self._path.read_bytes()
        state, sound = State(), 0
        for row in data.split(b"\n")[:-1]:
            try:
                state = _joined(state, json.loads(row))
            except (ValueError, KeyError, TypeError, AttributeError):
                break
            sound += len(row) + 1
        if sound < len(data):
            os.truncate(self._path, sound)
        self._written = len(state.shards)
        return state

    def write(self, state: State) -> None:
        """Appends one line, and waits until the disk has it. After a line that failed there are no others."""
        if self._failed:
            return
        self._failed = True
        fresh = state.shards[self._written :]
        entry = {
            "shards": list(fresh),
            "open": {split: totals.to_json() for split, totals in state.open.items()},
            "cursor": list(state.cursor.position),
            "unit": state.cursor.unit,
            "place": state.cursor.place,
            "first": state.cursor.first,
            "skipped": state.skipped,
        }
        self._file.write(canonical.line(entry))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._written = len(state.shards)
        self._failed = False

    def close(self) -> None:
        """Lets go of it."""
        with suppress(OSError):
            # What a full disk did not take is a torn line.
            self._file.close()


def _joined(state: State, entry: dict[str, Any]) -> State:
    return State(
        shards=(*state.shards, *entry["shards"]),
        open={split: Totals.from_json(entry["open"][split]) for split in SPLITS},
        cursor=Cursor(
            Position(*map(int, entry["cursor"])), entry["unit"], int(entry["first"]), _place(entry.get("place"))
        ),
        skipped=int(entry["skipped"]),
    )


def _place(numbers: list[int] | None) -> Place | None:
    place = None if numbers is None else Place(*map(int, numbers))
    if place is not None and (min(place) < 0 or max(place) >= _MOST or place.line < 1 or place.unpacked > place.offset):
        raise ValueError(f"no place in a file: {numbers}")
    return place


def _lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
