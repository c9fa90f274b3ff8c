"""Cutting a corpus into partitions: runs of neighbouring sources of about the same size, whole files each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slmtok.corpus import STDIN, Sources
from slmtok.errors import InvalidOption

PARTITION_BYTES = 256 << 20
"""The most bytes on disk of a partition of several files."""
UNKNOWN = 64 << 20
"""What a source counts whose size nobody knows."""


@dataclass(frozen=True)
class Partition:
    """Sources number `first` and following of a corpus."""

    first: int
    sources: Sources


def partitions(sources: Sequence[str], workers: int) -> list[Partition]:
    """Cuts a corpus for this many workers: about four partitions for each, so that none waits long for the last.

    Raises `InvalidOption` for standard input, which no other machine can read.
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
        held += size
    if begun < len(sources):
        found.append(Partition(begun, Sources(sources[begun:])))
    return found


def _size(source: str) -> int:
    try:
        return max(Path(source).stat().st_size, 1)
    except OSError:
        return UNKNOWN
