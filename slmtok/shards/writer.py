"""Writing shards: `ShardWriter` appends documents to one shard, `Committer` cuts the corpus into shards.

Documents are appended to `.tmp` files; closing a shard renames them. A shard closes at the first document end with at
least `shard_tokens` ids, and a limit ends the run at a document end, so both depend on the documents alone. Between
closings another thread syncs the files and writes the journal from time to time. Files may be ahead of the journal; a
resumed run truncates them to it. Every failure of the disk is an `OSError`, which the caller explains.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from slmtok import atomic
from slmtok.errors import Setting, Unreadable
from slmtok.files import file_digest
from slmtok.shards.format import HEADER_BYTES, SPLITS, TEMPORARY, Header, Totals, corrupt, file_sizes, shard_name
from slmtok.shards.journal import Journal, State, sync_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.corpus import Batch
    from slmtok.shards.split import Split

CHECKPOINT_SECONDS = 0.25
"""A killed run repeats at most about this much work; shorter intervals would make the journal large."""


@dataclass(frozen=True)
class Encoded:
    """The documents of a batch as ids.

    ids: all documents with their delimiters, end to end. offsets: int64[n + 1]. nbytes: uint64[n], raw bytes. digests:
    uint8[n, 32], the sha256 of each. unusual: int64[n, 3], how often each has the characters of `contents.UNUSUAL`.
    """

    ids: NDArray[Any]
    offsets: NDArray[np.int64]
    nbytes: NDArray[np.uint64]
    digests: NDArray[np.uint8]
    unusual: NDArray[np.int64] | None = None

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of ids of each document, int64[n]."""
        lengths: NDArray[np.int64] = self.offsets[1:] - self.offsets[:-1]
        return lengths

    def select(self, index: NDArray[np.int64], domains: NDArray[np.uint16] | None) -> Rows:
        """The documents with these ascending indices; neighbours stay one run of ids."""
        import numpy as np

        breaks = np.flatnonzero(np.diff(index) != 1) + 1
        firsts = index[np.concatenate(([0], breaks))]
        lasts = index[np.concatenate((breaks - 1, [len(index) - 1]))]
        bounds = zip(self.offsets[firsts].tolist(), self.offsets[lasts + 1].tolist(), strict=True)
        return Rows(
            ids=[self.ids[start:stop] for start, stop in bounds],
            lengths=self.lengths[index],
            nbytes=self.nbytes[index],
            digest=digest_sum(self.digests[index]),
            domains=None if domains is None else domains[index],
        )


@dataclass(frozen=True)
class Rows:
    """Documents to append to a shard: their ids in runs, and of each the number of ids and of raw bytes."""

    ids: list[NDArray[Any]]
    lengths: NDArray[np.int64]
    nbytes: NDArray[np.uint64]
    digest: int
    domains: NDArray[np.uint16] | None = None


class ShardWriter:
    """Writes shard number `shard` of a split."""

    def __init__(self, folder: Path, split: str, shard: int, *, id_bytes: int, domains: bool) -> None:
        """A new shard. Its files are created when the first documents come."""
        self.split, self.shard = split, shard
        self.totals = Totals()
        self._folder = folder
        self._id_bytes = id_bytes
        self._suffixes = ("bin", "off", "nb", *(("dom",) if domains else ()))
        self._files: dict[str, IO[bytes]] = {}

    @property
    def name(self) -> str:
        """`train-00000`."""
        return shard_name(self.split, self.shard)

    def path(self, suffix: str, temporary: str = TEMPORARY) -> Path:
        """One of its files, the temporary one unless `temporary` is empty."""
        return self._folder / f"{self.name}.{suffix}{temporary}"

    def open(self) -> None:
        """Creates the files, with zeros for the header and the first offset."""
        for suffix in self._suffixes:
            # A killed run left one, which may have another hard link.
            self.path(suffix).unlink(missing_ok=True)
        self._files = {suffix: self.path(suffix).open("wb") for suffix in self._suffixes}
        self._files["bin"].write(b"\0" * HEADER_BYTES)
        self._files["off"].write(b"\0" * 8)

    def reopen(self, totals: Totals) -> None:
        """Resumes the files of an earlier run, truncated to `totals`. Raises `CorruptShard` where they are shorter."""
        sizes = file_sizes(totals.tokens, totals.docs, self._id_bytes)
        for suffix in self._suffixes:
            temporary, final = self.path(suffix), self.path(suffix, "")
            if not temporary.exists() and final.exists():
                final.replace(temporary)
            atomic.copy_if_linked(temporary)
            file = temporary.open("r+b") if temporary.exists() else None
            if file is not None:
                self._files[suffix] = file
            if file is None or os.fstat(file.fileno()).st_size < sizes[suffix]:
                fix = (Setting("force", True), " starts again")
                raise corrupt(temporary, "it is shorter than the journal says", fix=fix)
            file.truncate(sizes[suffix])
            file.seek(sizes[suffix])
        self.totals = totals

    def append(self, rows: Rows) -> None:
        """Appends documents. The files are open."""
        import numpy as np

        ends = np.cumsum(rows.lengths, dtype="<u8") + np.uint64(self.totals.tokens)
        for run in rows.ids:
            self._files["bin"].write(np.ascontiguousarray(run).data)
        self._files["off"].write(ends.data)
        self._files["nb"].write(rows.nbytes.astype("<u8", copy=False).data)
        if "dom" in self._files and rows.domains is not None:
            self._files["dom"].write(rows.domains.astype("<u2", copy=False).data)
        added = Totals(int(rows.lengths.sum()), len(rows.lengths), int(rows.nbytes.sum()), rows.digest)
        self.totals += added

    def flush(self) -> list[int]:
        """Flushes all buffers; returns the descriptors to sync."""
        files = [file for file in self._files.values() if not file.closed]
        for file in files:
            file.flush()
        return [file.fileno() for file in files]

    def close(self, header: Header) -> dict[str, object]:
        """Writes the header, syncs and renames the files; returns the manifest entry of the shard."""
        totals = self.totals
        header = replace(header, n_tokens=totals.tokens, n_docs=totals.docs, n_bytes=totals.bytes, shard=self.shard)
        self._files["bin"].seek(0)
        self._files["bin"].write(header.to_bytes())
        digests: dict[str, str] = {}
        for suffix, file in self._files.items():
            file.flush()
            os.fsync(file.fileno())
            file.close()
            # Read again: the header, which comes first, was written last, and an earlier run may have begun the file.
            digests[suffix] = file_digest(self.path(suffix))
        for suffix in self._suffixes:
            self.path(suffix).replace(self.path(suffix, ""))
        self._files = {}
        return {"name": self.name, "split": self.split, "sha256": digests, **totals.to_json()}

    @property
    def is_open(self) -> bool:
        """Whether its files exist: documents have come."""
        return bool(self._files)

    def remove(self) -> None:
        """Closes the files and removes what lies at their paths, perhaps in a folder that has replaced theirs."""
        self.abandon()
        for suffix in self._suffixes:
            self.path(suffix).unlink(missing_ok=True)

    def abandon(self) -> None:
        """Closes the files and leaves them as they are."""
        for file in self._files.values():
            try:
                file.close()
            except OSError:
                # What could not be written is not in the journal either.
                continue
        self._files = {}


@dataclass(frozen=True)
class Limits:
    """Where a run ends before its corpus does; None is no limit. `chunks` counts shards of the training split."""

    docs: int | None = None
    bytes: int | None = None
    tokens: int | None = None
    chunks: int | None = None


class Committer:
    """Takes encoded batches in order and writes the shards of one folder, from `state` on."""

    def __init__(
        self,
        folder: Path,
        journal: Journal,
        state: State,
        *,
        header: Header,
        shard_tokens: int,
        split: Split,
        limits: Limits,
        domains: Sequence[int] | None,
    ) -> None:
        """Reopens the unfinished shards of `state`. `domains`: the domain of each source, if domains are named.

        Raises `CorruptShard`, `OSError`.
        """
        self.state = state
        self._folder, self._journal, self._header = folder, journal, header
        self._shard_tokens, self._split, self._limits, self._domains = shard_tokens, split, limits, domains
        self._skipped_before = state.skipped
        self._open = {name: self._next_shard(name) for name in SPLITS}
        try:
            for name, shard in self._open.items():
                if state.open[name].docs:
                    shard.reopen(state.open[name])
        except BaseException:
            self._abandon()
            raise
        self._syncer = ThreadPoolExecutor(1, thread_name_prefix="slmtok-sync")
        self._syncing: Future[None] | None = None
        self._synced = time.monotonic()
        for name in SPLITS:
            # The earlier run was killed between the last document of a shard and its closing.
            if self._open[name].totals.tokens >= shard_tokens:
                self.close_shard(name)
        self._written = self._totals()
        self.full = self._is_full()

    def _next_shard(self, split: str) -> ShardWriter:
        number = len(self.state.closed(split))
        width, domains = self._header.id_bytes, self._domains is not None
        return ShardWriter(self._folder, split, number, id_bytes=width, domains=domains)

    def _totals(self) -> Totals:
        return sum(map(self.state.totals, SPLITS), Totals())

    # --- documents ----------------------------------------------------------------------------------------------------

    def take(self, batch: Batch, encoded: Encoded) -> None:
        """Writes the documents of a batch, up to a limit; then `full` is true."""
        import numpy as np

        validation = self._split.validation(batch, encoded.digests)
        domains = None if self._domains is None else batch.by_source(self._domains)
        n, begin = len(encoded.lengths), 0
        while begin < n and not self.full:
            end = min(self._limit(encoded, begin), n)
            closing = ""
            for name in SPLITS:
                at = self._shard_end(name, validation == (name == "val"), encoded.lengths, begin)
                if at is not None and (at < end or (at == end and not closing)):
                    end, closing = at, name
            for name in SPLITS:
                chosen = begin + np.flatnonzero(validation[begin:end] == (name == "val"))
                if len(chosen):
                    self._append(self._open[name], encoded.select(chosen, domains))
            if encoded.unusual is not None:
                self.state = self.state.add_unusual(encoded.unusual[begin:end].sum(axis=0).tolist())
            self._advance(batch, end)
            if closing:
                self.close_shard(closing)
            self.full = self._is_full()
            begin = end
        if n == 0:
            self._advance(batch, 0)
        self._checkpoint()

    def _limit(self, encoded: Encoded, begin: int) -> int:
        """The index behind the document that reaches a limit."""
        import numpy as np

        ends = [len(encoded.lengths)]
        if self._limits.docs is not None:
            ends.append(begin + self._limits.docs - self._written.docs)
        for limit, written, sizes in (
            (self._limits.bytes, self._written.bytes, encoded.nbytes),
            (self._limits.tokens, self._written.tokens, encoded.lengths),
        ):
            if limit is not None:
                total = np.cumsum(sizes[begin:].astype(np.int64))
                ends.append(begin + 1 + int(np.searchsorted(total, limit - written)))
        return min(ends)

    def _append(self, shard: ShardWriter, rows: Rows) -> None:
        if not shard.is_open:
            shard.open()
            try:
                self._journal.check_in_place()
            except Unreadable:
                # In a folder without a journal of ours they would be in the way of the next run.
                shard.remove()
                raise
        shard.append(rows)

    def _shard_end(self, name: str, in_split: NDArray[np.bool_], lengths: NDArray[np.int64], begin: int) -> int | None:
        """The index behind the document that fills the open shard of a split, None if none does."""
        import numpy as np

        room = self._shard_tokens - self._open[name].totals.tokens
        total = np.cumsum(np.where(in_split[begin:], lengths[begin:], 0))
        if not len(total) or total[-1] < room:
            return None
        return begin + 1 + int(np.searchsorted(total, room))

    def _is_full(self) -> bool:
        limits, written = self._limits, self._written
        return any(
            limit is not None and number >= limit
            for limit, number in (
                (limits.docs, written.docs),
                (limits.bytes, written.bytes),
                (limits.tokens, written.tokens),
                (limits.chunks, len(self.state.closed("train"))),
            )
        )

    def _advance(self, batch: Batch, end: int) -> None:
        """Updates the state: everything before document `end` of the batch is written."""
        skipped = self._skipped_before + batch.skips_before(end)
        if end == len(batch):
            skipped = self._skipped_before = self._skipped_before + batch.skips_before(end + 1)
        self.state = replace(
            self.state,
            open={name: shard.totals for name, shard in self._open.items()},
            position=batch.position(end) if end else self.state.position,
            skipped=skipped,
        )
        self._written = self._totals()

    # --- durability ---------------------------------------------------------------------------------------------------

    def close_shard(self, name: str) -> None:
        """Finishes the open shard of a split; the journal has it when this returns."""
        self._wait()
        self._journal.check_in_place()
        entry = self._open[name].close(self._header)
        sync_folder(self._folder)
        self.state = replace(self.state, shards=(*self.state.shards, entry), open={**self.state.open, name: Totals()})
        self._open[name] = self._next_shard(name)
        self.save()

    def finish(self) -> None:
        """Closes all shards that hold documents."""
        for name in SPLITS:
            if self._open[name].totals.docs:
                self.close_shard(name)
        self._wait()

    def save(self) -> None:
        """Makes the state durable, and waits for it."""
        self._wait()
        self._sync(self._flush(), self.state)

    def _flush(self) -> list[int]:
        return [descriptor for shard in self._open.values() for descriptor in shard.flush()]

    def _checkpoint(self) -> None:
        """From time to time makes the state durable in another thread."""
        due = time.monotonic() - self._synced >= CHECKPOINT_SECONDS
        if not due or (self._syncing and not self._syncing.done()):
            return
        self._wait()
        self._syncing = self._syncer.submit(self._sync, self._flush(), self.state)

    def _sync(self, descriptors: list[int], state: State) -> None:
        for descriptor in descriptors:
            os.fsync(descriptor)
        self._journal.write(state)
        self._synced = time.monotonic()

    def _wait(self) -> None:
        """Waits for the syncing thread; raises what it raised."""
        if self._syncing is not None:
            syncing, self._syncing = self._syncing, None
            syncing.result()

    def leave(self) -> None:
        """Closes all files; what the journal has stays."""
        self._syncer.shutdown()
        self._abandon()

    def _abandon(self) -> None:
        for shard in self._open.values():
            shard.abandon()


def digest_sum(digests: NDArray[np.uint8]) -> int:
    """The sum modulo 2^256 of digests, uint8[n, 32], as big-endian numbers."""
    import numpy as np

    words = np.ascontiguousarray(digests).view(">u4").reshape(-1, 8).sum(axis=0, dtype=np.uint64)
    total = 0
    for word in words.tolist():
        total = (total << 32) + word
    return total % (1 << 256)
