"""Packed data is compared with the digests of its manifest before the first step: a changed id would train silently."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slmmodel.data import RunData
from slmmodel.data.source import corrupt
from slmmodel.distributed import World
from slmmodel.errors import OfCommand
from slmmodel.files import sha256_of
from slmmodel.training.metrics import Report


class DataGuard:
    """Notices that packed data is changed while a run reads it, before a checkpoint is written of it.

    A file with another size or time of last write is compared with its digest again.
    """

    def __init__(self, data: RunData, world: World) -> None:
        # A caller in Python may change the working folder while the run trains.
        self._files, self._world = [(path.absolute(), digest) for path, digest in _files(data)], world
        self._seen = self._last_writes()

    def check(self) -> None:
        """Raises `CorruptFile` on all ranks, as `verify_data` does. Every rank calls it."""
        now = self._last_writes()
        if self._world.reduce("max", [now != self._seen])[0]:
            _verify(self._files, self._world)
            self._seen = now

    def _last_writes(self) -> list[tuple[int, int] | None]:
        found: list[tuple[int, int] | None] = []
        for path, _ in self._files:
            try:
                status = path.stat()
                found.append((status.st_size, status.st_mtime_ns))
            except OSError:
                found.append(None)
        return found


def _files(data: RunData) -> list[tuple[Path, str]]:
    sources = [source for source in (data.train, data.val) if source is not None]
    return list(dict.fromkeys(pair for source in sources for pair in source.files()))


def verify_data(data: RunData, world: World, report: Report | None = None) -> None:
    """Reads all files of the packed data of a run; each rank reads its share. Other kinds of data have no digests.

    Raises `CorruptFile` on all ranks for the first file that differs or is missing.
    """
    _verify(_files(data), world, report)


def _verify(files: Sequence[tuple[Path, str]], world: World, report: Report | None = None) -> None:
    own = range(world.rank, len(files), world.size)
    sizes = {i: files[i][0].stat().st_size if files[i][0].is_file() else 0 for i in own}
    total, done = sum(sizes.values()), 0

    def count(n_bytes: int) -> None:
        nonlocal done
        done += n_bytes
        if report is not None:
            report("verifying the data", done, total, "")

    def is_wrong(path: Path, digest: str) -> bool:
        return not path.is_file() or sha256_of(path, count) != digest

    first_wrong = next((i for i in own if is_wrong(*files[i])), len(files))
    if report is not None:
        report("preparing", 0, 0, "")
    first_wrong = int(world.reduce("min", [first_wrong])[0])
    if first_wrong < len(files):
        raise corrupt(
            files[first_wrong][0],
            "is missing or differs from its SHA-256 in manifest.json",
            fix=(
                "pack the data again, or restore the file; ",
                OfCommand("--no-verify", "slm train --no-verify in a shell"),
                " trains on it as it is",
            ),
        )
