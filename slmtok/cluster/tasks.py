"""Counting and packing on a Ray cluster: the corpus is cut into partitions, and each is a task.

A partition is a run of neighbouring sources of about the same size, or a range of chunks of a large file. A task first
skips what lies before its chunks, which costs decompression at most. Results are equal to local ones to the byte:
counts files of partitions are merged as `slmtok merge` does, and the committer of `slmtok pack` writes all shards, so a
stopped run resumes with or without a cluster.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.cluster.session import connected, ordered_map, workers_of
from slmtok.corpus import STDIN, Batch, Corpus, Position, Skipped, Sources, find, reading
from slmtok.corpus.batches import START
from slmtok.corpus.profile import CorpusProfile
from slmtok.errors import OptionError, Setting
from slmtok.option_values import MIN_MEMORY_BYTES
from slmtok.options import ReadOptions
from slmtok.training.counting import count_corpus
from slmtok.training.counts import PretokenCounts
from slmtok.training.doc_digests import DocDigests
from slmtok.training.ingest import Observers
from slmtok.training.memory import memory_limit

if TYPE_CHECKING:
    import os

    from slmtok.aliases import Progress
    from slmtok.options import CountOptions
    from slmtok.shards.run import BatchEncoder, Encoding, RemoteEncoder
    from slmtok.shards.writer import Encoded

PARTITION_BYTES = 256 << 20
"""Maximum size on disk of a partition of several files."""
UNKNOWN_SOURCE_BYTES = 64 << 20
"""Assumed size of a source whose size is unknown."""
_COMPRESSION_RATIOS = {".gz": 3, ".zst": 4, ".xz": 5}
"""Typical ratios of text to file size; a wrong estimate only makes parts unequal."""
_BLOCK_BYTES = 32 << 20


# --- partitions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Partition:
    """Neighbouring sources of a corpus, the first of which has number `first`; or a range of chunks of one source."""

    first: int
    sources: Sources


def partitions(sources: Sequence[str], workers: int, read: ReadOptions | None = None) -> list[Partition]:
    """Cuts a corpus into about four partitions per worker, which balances their load.

    read: how the corpus is read, if large files may be cut into ranges of chunks. Raises `OptionError` for standard
    input, which other machines cannot read.
    """
    if STDIN in sources:
        raise OptionError(
            "standard input cannot be read by other machines",
            limit="files that all machines can read, and hf: data sets",
            fix="save the text to a file first",
            option="ray",
        )
    sizes = [_size(source) for source in sources]
    limit = min(max(sum(sizes) // (4 * max(workers, 1)), 1), PARTITION_BYTES)
    found: list[Partition] = []
    begin = filled = 0
    for index, size in enumerate(sizes):
        if index > begin and filled + size > limit:
            found.append(Partition(begin, Sources(sources[begin:index])))
            begin, filled = index, 0
        parts = _parts(sources[index], size, limit, workers, read) if size > limit else []
        if parts:
            found.extend(Partition(index, part) for part in parts)
            begin, filled = index + 1, 0
            continue
        filled += size
    if begin < len(sources):
        found.append(Partition(begin, Sources(sources[begin:])))
    return found


def _parts(source: str, size: int, limit: int, workers: int, read: ReadOptions | None) -> list[Sources]:
    """The ranges of chunks of a large file; none where it cannot be cut."""
    if read is None or not Corpus([source], read).is_chunked(source):
        return []
    ratio = _COMPRESSION_RATIOS.get(Path(source).suffix.lower())
    number = min(-(-size // limit), workers if ratio else 2 * workers)
    chunks = -(-size * (ratio or 1) // reading.CHUNK_BYTES)
    width = -(-chunks // number)
    found = []
    for first in range(0, chunks, width):
        part = Sources([source])
        part.chunks = (first, first + width if first + width < chunks else None)
        found.append(part)
    return found if len(found) > 1 else []


def _size(source: str) -> int:
    try:
        return max(Path(source).stat().st_size, 1)
    except OSError:
        return UNKNOWN_SOURCE_BYTES


def _refuse_limits(options: ReadOptions, names: Sequence[str], work: str) -> None:
    """Raises `OptionError` for a limit whose end depends on all documents before it."""
    for name in names:
        if getattr(options, name) is not None:
            raise OptionError(
                (Setting(name), " ends a corpus where only reading it in order can tell"),
                limit=("on many machines: ", Setting("sample"), ", ", Setting("max_doc_chars")),
                fix=("leave ", Setting(name), f" out, or {work} on one machine"),
                option=name,
            )


# --- counting ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PartStats:
    """The statistics of a partition that its counts file does not hold; they follow the bytes of the file."""

    skipped: Skipped
    files: int
    observers: Observers


def count_on(
    address: str,
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    options: CountOptions,
    progress: Progress | None = None,
    observers: Observers | None = None,
) -> PretokenCounts:
    """Counts a corpus on the Ray cluster at `address`; equal to `slmtok.count` to the byte.

    The tasks of a machine share `options.memory`. `progress` is called with the number of counted files.

    Raises `MissingExtra`, `ClusterFailed`, what counting raises, and `OptionError` for limits on the corpus, whose end
    depends on all documents before it.
    """
    _refuse_limits(options, ("max_docs", "max_bytes", "max_chars"), "count")
    started = time.perf_counter()
    sources = find(corpus, options)
    with connected(address) as ray, tempfile.TemporaryDirectory() as folder:
        parts = partitions(sources, workers_of(ray), options)
        shared = _shared(options, ray)
        observers = observers or Observers()
        wanted = (observers.digests is not None, observers.profile is not None)
        jobs = [(part, shared, *wanted) for part in parts]
        files, skipped, done = [], Skipped(), 0
        for path, part in _save_parts(ordered_map(ray, _count, jobs), Path(folder)):
            files.append(path)
            skipped.add(part.skipped)
            observers.merge(part.observers)
            done += part.files
            if progress is not None:
                progress("count", done, len(sources))
        counts = PretokenCounts.load(*files, allow_duplicate=True)
    counts.stats.files[:] = sources
    counts.stats.skipped = skipped
    memory = memory_limit(options.memory)
    # Partitions are no inputs of their own: the lineage stays empty, as after local counting.
    return replace(counts, lineage=(), seconds=time.perf_counter() - started, memory=memory)


def _shared(options: CountOptions, ray: Any) -> CountOptions:
    """The options of one task: one thread, and its share of the memory of a machine."""
    tasks = max([int(node.get("Resources", {}).get("CPU", 1)) for node in ray.nodes()], default=1)
    memory = memory_limit(options.memory)
    if memory is not None:
        memory = max(memory // max(tasks, 1), MIN_MEMORY_BYTES)
    return replace(options, threads=1, memory=memory, spill_dir=None)


def _count(partition: Partition, options: CountOptions, digests: bool, profile: bool) -> Iterator[bytes | _PartStats]:
    """A task: the bytes of the counts file of a partition, then its `_PartStats`."""
    observers = Observers(DocDigests() if digests else None, CorpusProfile() if profile else None)
    counts = count_corpus(partition.sources, options, None, observers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.counts"
        counts.save(path)
        with path.open("rb") as file:
            while chunk := file.read(_BLOCK_BYTES):
                yield chunk
    chunks = partition.sources.chunks
    # A file of several partitions counts with its first.
    files = len(partition.sources) if chunks is None or chunks[0] == 0 else 0
    yield _PartStats(counts.stats.skipped, files, observers)


def _save_parts(results: Iterator[bytes | _PartStats], folder: Path) -> Iterator[tuple[Path, _PartStats]]:
    """The counts file of each partition, written to the folder, with its statistics."""
    for number in count():
        path = folder / f"{number}.counts"
        with path.open("wb") as file:
            for result in results:
                if isinstance(result, _PartStats):
                    break
                file.write(result)
            else:
                return
        yield path, result


# --- packing ----------------------------------------------------------------------------------------------------------


def pack_on(address: str) -> RemoteEncoder:
    """The argument `remote` of `slmtok.shards.pack` for the Ray cluster at `address`.

    When packing begins, it raises `MissingExtra`, `ClusterFailed`, and `OptionError` for standard input and
    `max_chars`, which need reading in order.
    """

    return partial(_encode_on, address)


def _encode_on(address: str, corpus: Corpus, encoder: BatchEncoder, start: Position) -> Encoding:
    _refuse_limits(corpus.options, ("max_chars",), "pack")
    with connected(address) as ray:
        # Without its chunk, the start cannot be assigned to a range of chunks.
        can_cut = corpus.cut is None and not (start.chunk is None and start.record)
        parts = partitions(corpus.sources, workers_of(ray), corpus.options if can_cut else None)
        shared = ray.put(encoder)
        jobs = [
            (replace(corpus, sources=part.sources), part, shared, _start_in(part, start))
            for part in parts
            if not _is_before(part, start)
        ]
        yield from _renumber(ordered_map(ray, _encode, jobs), start)


def _is_before(part: Partition, start: Position) -> bool:
    """Whether all of a partition lies before `start`."""
    end = part.sources.chunks[1] if part.sources.chunks is not None else None
    if part.first == start.source and end is not None and start.chunk is not None:
        return end <= start.chunk.number
    return part.first + len(part.sources) <= start.source


def _start_in(part: Partition, start: Position) -> Position:
    """Where to begin in a partition: at `start` if it lies there, else at its beginning."""
    first = 0 if part.sources.chunks is None else part.sources.chunks[0]
    if start.source < part.first or (start.chunk.number if start.chunk else 0) < first:
        return START
    return replace(start, source=start.source - part.first)


def _encode(
    corpus: Corpus, part: Partition, encoder: BatchEncoder, start: Position
) -> Iterator[tuple[Batch, Encoded, int]]:
    """A task: the batches of a partition and their ids without their texts; sources are numbered as in the corpus.

    The number is that of the chunk from which records are counted, 0 for the beginning of the file.
    """
    first = part.sources.chunks[0] if part.sources.chunks is not None and start == START else 0
    for batch, encoded in encoder.encode(corpus, start, threads=0):
        starts = tuple((index, replace(at, source=at.source + part.first)) for index, at in batch.starts)
        yield replace(batch, documents=None, starts=starts), encoded, first


def _renumber(found: Iterator[tuple[Batch, Encoded, int]], start: Position) -> Iterator[tuple[Batch, Encoded]]:
    """The batches with records numbered as in the whole file: a part continues where the one before it ended.

    start: where the run begins; the rest of its part may hold no record.
    """
    part, base, end = (-1, 0), 0, start
    for batch, encoded, first in found:
        source = batch.starts[0][1].source
        if (source, first) != part:
            part, base = (source, first), end.record if first and end.source == source else 0
        chunk = batch.chunk and batch.chunk._replace(record=batch.chunk.record + base)
        moved = replace(batch, starts=tuple((index, at.plus(base)) for index, at in batch.starts), chunk=chunk)
        end = moved.position(len(moved))
        yield moved, encoded
