"""Counting a corpus on a cluster: a counts file for each partition, and their sum as `slmtok merge` makes it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.cluster.partition import Partition, partitions
from slmtok.cluster.session import connected, in_order, workers_of
from slmtok.corpus import Skipped, find
from slmtok.corpus.worth import Worth
from slmtok.errors import InvalidOption
from slmtok.training import counts_file
from slmtok.training.doc_digests import DocDigests
from slmtok.training.memory import LEAST
from slmtok.training.observed import Observed
from slmtok.training.run import count_corpus

if TYPE_CHECKING:
    import os

    from slmtok.aliases import Progress
    from slmtok.training.counts import PretokenCounts
    from slmtok.training.options import CountOptions

_CHUNK = 32 << 20
_ENDING = ("max_docs", "max_bytes", "max_chars")


@dataclass(frozen=True)
class _Seen:
    """What counting a partition saw that its counts file does not say; it comes behind the bytes of the file."""

    skipped: Skipped
    files: int
    observed: Observed


def count_on(
    address: str,
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    kind: str,
    pattern: str | None,
    options: CountOptions,
    progress: Progress | None = None,
    kept: Observed | None = None,
) -> PretokenCounts:
    """Counts a corpus on the Ray cluster at `address`; what it gives, and writes, is what `slmtok.count` gives.

    `options.memory` is shared by the tasks of a machine. `progress` is called with the files that are counted.

    Raises `MissingExtra`, `ClusterFailed`, what counting raises, and `InvalidOption` for limits that end a corpus,
    because where it ends depends on all that comes before.
    """
    for name in _ENDING:
        if getattr(options.read, name) is not None or getattr(options, name, None) is not None:
            raise InvalidOption(
                f"{name}= ends a corpus at a place that only reading it in order tells",
                limit="on many machines: sample=, doc_cap=, exclude=",
                fix=f"leave {name}= out, or count on one machine",
                option=name,
            )
    begun = time.perf_counter()
    sources = find(corpus, options.read)
    with connected(address) as ray, tempfile.TemporaryDirectory() as folder:
        parts = partitions(sources, workers_of(ray), options.read)
        shared = _shared(options, ray)
        wanted = (kept is not None and kept.digests is not None, kept is not None and kept.worth is not None)
        jobs = [(part, kind, pattern, shared, *wanted) for part in parts]
        gathered = _Gathered(Path(folder), progress, len(sources), kept or Observed())
        gathered.take(in_order(ray, _count, jobs))
        counts = counts_file.load(gathered.files, allow_duplicate=True)
        skipped = gathered.skipped
    counts.fed.files[:] = sources
    counts.fed.skipped = skipped
    memory = options.memory if isinstance(options.memory, int) else None
    # It was counted at once, though not in one place: files of parts are no files of their own.
    return replace(counts, lineage=(), seconds=time.perf_counter() - begun, memory=memory)


def _shared(options: CountOptions, ray: Any) -> CountOptions:
    """The options of one task of many on a machine: one thread, and its share of the memory."""
    tasks = max([int(node.get("Resources", {}).get("CPU", 1)) for node in ray.nodes()], default=1)
    memory = options.memory
    if isinstance(memory, int):
        memory = max(memory // max(tasks, 1), LEAST)
    return replace(options, threads=1, memory=memory, spill_folder=None)


def _count(
    partition: Partition, kind: str, pattern: str | None, options: CountOptions, digests: bool, worth: bool
) -> Iterator[bytes | _Seen]:
    """A task: the bytes of the counts file of a partition, then what else was seen."""
    kept = Observed(DocDigests() if digests else None, Worth() if worth else None)
    counts = count_corpus(partition.sources, kind, pattern, options, None, kept if digests or worth else None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.counts"
        counts.save(path)
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    units = partition.sources.units
    yield _Seen(counts.fed.skipped, len(partition.sources) if units is None or units[0] == 0 else 0, kept)


class _Gathered:
    """The counts files of all partitions on this machine, and the sum of what else was seen."""

    def __init__(self, folder: Path, progress: Progress | None, total: int, kept: Observed) -> None:
        self.files: list[Path] = []
        self.skipped = Skipped()
        self._folder, self._progress, self._total, self._kept = folder, progress, total, kept
        self._done = 0

    def take(self, results: Iterator[bytes | _Seen]) -> None:
        """Takes what the tasks give, in order."""
        begun = False
        for result in results:
            if not begun:
                self.files.append(self._folder / f"{len(self.files)}.counts")
            begun = isinstance(result, bytes)
            if isinstance(result, bytes):
                with self.files[-1].open("ab") as file:
                    file.write(result)
            else:
                self._note(result)

    def _note(self, seen: _Seen) -> None:
        for one in fields(Skipped):
            setattr(self.skipped, one.name, getattr(self.skipped, one.name) + getattr(seen.skipped, one.name))
        self._kept.merge(seen.observed)
        self._done += seen.files
        if self._progress is not None:
            self._progress("count", self._done, self._total)
