"""Saved states of a run, `steps/step-N/`: each appears whole or not at all, and is believed only while its sums hold.

A state is written into `step-N.tmp`, every file synced, then `SHA256SUMS`, then the folder is renamed, the parent
synced, and `latest` replaced. Whatever a crash leaves is either a folder that ends in `.tmp` or a whole state.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from slmmodel.bundle import files
from slmmodel.errors import CorruptBundle

LATEST, BEST = "latest", "best"


class Steps:
    """The folder `steps` of a run."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, step: int) -> Path:
        """The folder of a state."""
        return self.folder / f"step-{step}"

    def list(self) -> list[int]:
        """The numbers of all states, in order; whole ones as far as names tell."""
        found = [path.name.removeprefix("step-") for path in self.folder.glob("step-*") if path.is_dir()]
        return sorted(int(number) for number in found if number.isdigit())

    def whole(self, step: int) -> bool:
        """Whether the state is there and its sums hold."""
        folder = self.path(step)
        try:
            files.check(folder)
        except CorruptBundle:
            return False
        return bool(files.read_sums(folder))

    def newest(self) -> int | None:
        """The newest whole state."""
        return next((step for step in reversed(self.list()) if self.whole(step)), None)

    def save(self, step: int, content: Mapping[str, bytes], *, suffix: str = "") -> Path:
        """Writes a state. Raises `DiskFull`, `Unreadable`; then nothing of it is left."""
        target = self.folder / f"step-{step}{suffix}"
        beside = self.folder / f"{target.name}.tmp"
        try:
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir(parents=True)
            for name, data in content.items():
                files.write_synced(beside / name, data)
            files.write_synced(beside / files.SUMS, files.sums_of(beside, content))
            files.sync_folder(beside)
            if target.exists():
                shutil.rmtree(target)
            beside.rename(target)
            files.sync_folder(self.folder)
        except OSError as error:
            shutil.rmtree(beside, ignore_errors=True)
            raise files.explained(error, target) from error
        if not suffix:
            files.write(self.folder / LATEST, f"{target.name}\n".encode())
        return target

    def mark_best(self, step: int) -> None:
        """Names the best state, which is kept whatever its age."""
        files.write(self.folder / BEST, f"step-{step}\n".encode())

    def best(self) -> int | None:
        """The number of the best state, where one was named and is still there."""
        try:
            number = (self.folder / BEST).read_text(encoding="utf-8").strip().removeprefix("step-")
        except OSError:
            return None
        return int(number) if number.isdigit() and int(number) in self.list() else None

    def prune(self, keep: int, every: int = 0) -> None:
        """Leaves the newest `keep` states, the best one, and those at multiples of `every`."""
        steps = self.list()
        kept = {*steps[-max(keep, 1) :], self.best(), *(step for step in steps if every and step % every == 0)}
        for step in steps:
            if step not in kept:
                # Renamed first: half a state must not look like a whole one.
                gone = self.path(step).rename(self.folder / f"step-{step}.old.tmp")
                shutil.rmtree(gone, ignore_errors=True)

    def drop_after(self, step: int | None) -> None:
        """Removes states newer than `step` (all, with None) and what crashes have left."""
        for number in self.list():
            if step is None or number > step:
                shutil.rmtree(self.path(number), ignore_errors=True)
        for left in self.folder.glob("*.tmp"):
            shutil.rmtree(left, ignore_errors=True)
