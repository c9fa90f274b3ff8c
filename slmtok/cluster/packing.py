"""Packing on a cluster: tasks read and encode partitions, and the one committer of `slmtok pack` writes their units.

So shards, journal and manifest are those of a local run, whatever died on the way; a run that was stopped may go on
with or without a cluster.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from slmtok.cluster.partition import Partition, partitions
from slmtok.cluster.session import connected, in_order, workers_of
from slmtok.errors import InvalidOption
from slmtok.shards.units import START, Cursor, Position, Unit

if TYPE_CHECKING:
    from slmtok.shards.encoding import Encode, Encoded
    from slmtok.shards.run import Elsewhere
    from slmtok.shards.sources import Corpus


def pack_on(address: str) -> Elsewhere:
    """What `slmtok.shards.pack` takes as `elsewhere` to encode on the Ray cluster at `address`.

    Raises, when packing begins, `MissingExtra`, `ClusterFailed`, and `InvalidOption` for what only reading in order
    tells: standard input, and `max_chars`.
    """

    def encoded(corpus: Corpus, encode: Encode, start: Cursor) -> Generator[tuple[Unit, Encoded], None, None]:
        if corpus.options.max_chars is not None:
            raise InvalidOption(
                "max_chars= ends a corpus at a place that only reading it in order tells",
                limit="on many machines: max_docs=, max_bytes=, max_tokens=, sample=, doc_cap=",
                fix="leave max_chars= out, or pack on one machine",
                option="max_chars",
            )
        with connected(address) as ray:
            # Without a shortcut nobody knows in which part of a file to begin.
            cuttable = corpus.cut is None and not (start.unit is None and start.position.record)
            read = replace(corpus.options, max_docs=None, max_bytes=None) if cuttable else None
            parts = partitions(corpus.paths, workers_of(ray), read)
            shared = ray.put(encode)
            jobs = [
                (replace(corpus, paths=part.sources), part, shared, _within(start, part))
                for part in parts
                if not _is_before(part, start)
            ]
            yield from _numbered(in_order(ray, _encode, jobs), start.position)

    return encoded


def _is_before(part: Partition, start: Cursor) -> bool:
    """Whether all of a partition lies before `start`."""
    end = part.sources.units[1] if part.sources.units is not None else None
    if part.first == start.position.source and end is not None and start.unit is not None:
        return end <= start.unit
    return part.first + len(part.sources) <= start.position.source


def _within(start: Cursor, part: Partition) -> Cursor:
    """Where to begin in a partition: `start` if it lies there, else its beginning."""
    first = 0 if part.sources.units is None else part.sources.units[0]
    if start.position.source < part.first or (start.unit or 0) < first:
        return START
    return start._replace(position=_moved(start.position, -part.first))


def _encode(corpus: Corpus, part: Partition, encode: Encode, start: Cursor) -> Iterator[tuple[Unit, Encoded, int]]:
    """A task: the units of a partition and their ids, without their texts; sources numbered as in the whole corpus.

    The number is that of the unit from which records are counted: 0, where they are counted as in the whole file.
    """
    since = part.sources.units[0] if part.sources.units is not None and start == START else 0
    for unit in corpus.units(start):
        starts = tuple((index, _moved(at, part.first)) for index, at in unit.starts)
        yield replace(unit, documents=None, starts=starts), encode(unit.held), since


def _numbered(found: Iterator[tuple[Unit, Encoded, int]], behind: Position) -> Iterator[tuple[Unit, Encoded]]:
    """The units with records numbered as in the whole file: a part goes on where the one before it ended.

    behind: where the run begins, behind which the rest of a part may hold no record at all.
    """
    part, base = (-1, 0), 0
    for unit, encoded, since in found:
        source = unit.starts[0][1].source
        if (source, since) != part:
            part, base = (source, since), behind.record if since and behind.source == source else 0
        starts = tuple((index, at._replace(record=at.record + base)) for index, at in unit.starts)
        moved = replace(unit, starts=starts, opens=unit.opens + base)
        behind = moved.before(len(moved))
        yield moved, encoded


def _moved(position: Position, sources: int) -> Position:
    return position._replace(source=position.source + sources)
