"""Cutting a corpus into partitions: runs of neighbouring sources of about the same size, and parts of large files.

A file that the engine reads is cut at the borders of its units, as threads of one machine share it. Whoever takes a
part passes over what lies before it, which is far cheaper than counting or encoding it, but not free: so a file has
few parts, and fewer if all before a part must be unpacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slmtok.corpus import STDIN, ReadOptions, Sources, engine_reader
from slmtok.errors import InvalidOption
from slmtok.shards.sources import UNIT_BYTES

PARTITION_BYTES = 256 << 20
"""The most bytes on disk of a partition of several files."""
UNKNOWN = 64 << 20
"""What a source counts whose size nobody knows."""
_UNPACKED = {".gz": 3, ".zst": 4, ".xz": 5}
"""About how much larger text is than its packed file: a wrong guess makes parts unequal, and nothing else."""


@dataclass(frozen=True)
class Partition:
    """Sources number `first` and following of a corpus; `sources.units` where it is a part of one."""

    first: int
    sources: Sources


def partitions(sources: Sequence[str], workers: int, read: ReadOptions | None = None) -> list[Partition]:
    """Cuts a corpus for this many workers: about four partitions for each, so that none waits long for the last.

    `read`: how it is read, where parts of a file are allowed. Raises `InvalidOption` for standard input, which no other
    machine can read.
    """
    if STDIN in sources:
        raise InvalidOption(
            "standard input cannot be read by other machines",
            limit="files that all machines see, and hf: data sets",
            fix="save the text to a file first",
            option="ray",
        )
    sizes = [_size(source) for source in sources]
    most = min(max(sum(sizes) // (4 * max(workers, 1)), 1), PARTITION_BYTES)
    found: list[Partition] = []
    begun = held = 0
    for index, size in enumerate(sizes):
        if index > begun and held + size > most:
            found.append(Partition(begun, Sources(sources[begun:index])))
            begun, held = index, 0
        parts = _parts(sources[index], size, most, workers, read) if size > most else []
        if parts:
            found.extend(Partition(index, part) for part in parts)
            begun, held = index + 1, 0
            continue
        held += size
    if begun < len(sources):
        found.append(Partition(begun, Sources(sources[begun:])))
    return found


def _parts(source: str, size: int, most: int, workers: int, read: ReadOptions | None) -> list[Sources]:
    """A large file in parts; none where it cannot be cut."""
    if read is None or read.selects or engine_reader(source, read) is None:
        return []
    larger = _UNPACKED.get(Path(source).suffix.lower())
    number = min(-(-size // most), workers if larger else 2 * workers)
    units = -(-size * (larger or 1) // UNIT_BYTES)
    width = -(-units // number)
    found = []
    for first in range(0, units, width):
        part = Sources([source])
        part.units = (first, first + width if first + width < units else None)
        found.append(part)
    return found if len(found) > 1 else []


def _size(source: str) -> int:
    try:
        return max(Path(source).stat().st_size, 1)
    except OSError:
        return UNKNOWN
