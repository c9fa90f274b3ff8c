"""The one committer: takes encoded units in order, appends their documents to shards, closes shards, keeps the journal.

A shard closes at the first document end with at least `shard_tokens` ids, a limit ends the run at a document end; both
depend on the documents alone. Between closings, a thread syncs what is written and notes it in the journal, so that a
killed run loses a twentieth of a second, a long one a quarter.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.shards.encoding import domains_of
from slmtok.shards.header import SPLITS, Header
from slmtok.shards.journal import Journal, State, sync_folder
from slmtok.shards.open_shard import Documents, OpenShard, Totals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.shards.encoding import Encoded
    from slmtok.shards.split import Split
    from slmtok.shards.units import Unit

CHECKPOINT_SECONDS = 0.05
_LONGEST = 5
"""So many times as long it may be between two notes in a run that lasts: they shall not fill its journal."""
_YOUNG_SECONDS = 5.0


@dataclass(frozen=True)
class Limits:
    """Where a run ends before its corpus does; None means nowhere. `chunks` counts shards of the training split."""

    docs: int | None = None
    bytes: int | None = None
    tokens: int | None = None
    chunks: int | None = None


class Committer:
    """Writes the shards of one folder, from `state` on."""

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
        """Reopens the shards that the state says are begun. `domains`: that of each source, where they have names.

        Raises `CorruptShard`, `OSError`.
        """
        self.state = state
        self._folder, self._journal, self._header = folder, journal, header
        self._shard_tokens, self._split, self._limits, self._domains = shard_tokens, split, limits, domains
        self._base = state.skipped
        self._open = {name: self._next(name) for name in SPLITS}
        try:
            for name, shard in self._open.items():
                if state.open[name].docs:
                    shard.reopen(state.open[name])
        except BaseException:
            for shard in self._open.values():
                shard.drop()
            raise
        self._syncing: Future[None] | None = None
        self._begun = self._synced = time.monotonic()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="slmtok-sync")
        for name in SPLITS:
            # Stopped between its last document and its closing.
            if self._open[name].totals.tokens >= shard_tokens:
                self.close(name)
        self._seen = self._totals()
        self.full = self._reached()

    def _next(self, split: str) -> OpenShard:
        number = len(self.state.closed(split))
        return OpenShard(self._folder, split, number, id_bytes=self._header.id_bytes, domains=self._domains is not None)

    def _totals(self) -> Totals:
        total = Totals()
        for name in SPLITS:
            total = total.plus(self.state.totals(name))
        return total

    # --- taking units -------------------------------------------------------------------------------------------------

    def take(self, unit: Unit, encoded: Encoded) -> None:
        """Writes the documents of a unit, up to the limit. `full` is true once there is nothing more to take."""
        import numpy as np

        validation = self._split.validation(unit, encoded.digests)
        domains = None if self._domains is None else domains_of(unit, self._domains)
        lengths = encoded.offsets[1:] - encoded.offsets[:-1]
        n, begin = len(lengths), 0
        while begin < n and not self.full:
            end = min(self._limit(encoded, lengths, begin), n)
            closing = ""
            for name in SPLITS:
                at = self._closes(name, validation == (name == "val"), lengths, begin)
                if at is not None and (at < end or (at == end and not closing)):
                    end, closing = at, name
            for name in SPLITS:
                chosen = begin + np.flatnonzero(validation[begin:end] == (name == "val"))
                if len(chosen):
                    self._open[name].append(_chosen(encoded, lengths, domains, chosen))
            self._mark(unit, end)
            if closing:
                self.close(closing)
            self.full = self._reached()
            begin = end
        if n == 0:
            self._mark(unit, 0)
        self._checkpoint()

    def _limit(self, encoded: Encoded, lengths: NDArray[np.int64], begin: int) -> int:
        """The index behind the document with which a limit is reached."""
        import numpy as np

        ends = [len(lengths)]
        if self._limits.docs is not None:
            ends.append(begin + self._limits.docs - self._seen.docs)
        for most, seen, sizes in (
            (self._limits.bytes, self._seen.bytes, encoded.nbytes),
            (self._limits.tokens, self._seen.tokens, lengths),
        ):
            if most is not None:
                room = np.cumsum(sizes[begin:].astype(np.int64))
                ends.append(begin + 1 + int(np.searchsorted(room, most - seen)))
        return min(ends)

    def _closes(self, name: str, of_split: NDArray[np.bool_], lengths: NDArray[np.int64], begin: int) -> int | None:
        """The index behind the document with which the open shard of a split is full, None if it isn't."""
        import numpy as np

        room = self._shard_tokens - self._open[name].totals.tokens
        sizes = np.cumsum(np.where(of_split[begin:], lengths[begin:], 0))
        if not len(sizes) or sizes[-1] < room:
            return None
        return begin + 1 + int(np.searchsorted(sizes, room))

    def _reached(self) -> bool:
        most, seen = self._limits, self._seen
        return (
            (most.docs is not None and seen.docs >= most.docs)
            or (most.bytes is not None and seen.bytes >= most.bytes)
            or (most.tokens is not None and seen.tokens >= most.tokens)
            or (most.chunks is not None and len(self.state.closed("train")) >= most.chunks)
        )

    # --- what is certain ----------------------------------------------------------------------------------------------

    def _mark(self, unit: Unit, end: int) -> None:
        """Notes that everything before document `end` of the unit is written."""
        cursor = unit.cursor(end) if end else self.state.cursor
        skipped = self._base + unit.skips_before(end)
        if end == len(unit):
            skipped = self._base = self._base + unit.skips_before(end + 1)
        self.state = replace(
            self.state,
            open={name: shard.totals for name, shard in self._open.items()},
            cursor=cursor,
            skipped=skipped,
        )
        self._seen = self._totals()

    def close(self, name: str) -> None:
        """Finishes the open shard of a split; it is in the journal when this returns."""
        self._wait()
        record = self._open[name].close(self._header)
        sync_folder(self._folder)
        self.state = replace(self.state, shards=(*self.state.shards, record), open={**self.state.open, name: Totals()})
        self._open[name] = self._next(name)
        self.save()

    def finish(self) -> None:
        """Closes all shards that hold something."""
        for name in SPLITS:
            if self._open[name].totals.docs:
                self.close(name)
        self._wait()

    def save(self) -> None:
        """Makes the present state durable, and waits for it."""
        self._wait()
        self._sync([number for shard in self._open.values() for number in shard.flush()], self.state)

    def _checkpoint(self) -> None:
        """The same from time to time in another thread, without waiting."""
        now = time.monotonic()
        pause = CHECKPOINT_SECONDS * min(_LONGEST, max(1.0, (now - self._begun) / _YOUNG_SECONDS))
        if now - self._synced < pause or (self._syncing and not self._syncing.done()):
            return
        self._wait()
        descriptors = [number for shard in self._open.values() for number in shard.flush()]
        self._syncing = self._pool.submit(self._sync, descriptors, self.state)

    def _sync(self, descriptors: list[int], state: State) -> None:
        for descriptor in descriptors:
            os.fsync(descriptor)
        self._journal.write(state)
        self._synced = time.monotonic()

    def _wait(self) -> None:
        if self._syncing is not None:
            syncing, self._syncing = self._syncing, None
            syncing.result()

    def leave(self) -> None:
        """Lets go of all files; what the journal knows stays."""
        self._pool.shutdown(wait=True)
        for shard in self._open.values():
            shard.drop()


def _chosen(
    unit: Encoded, lengths: NDArray[np.int64], domains: NDArray[np.uint16] | None, index: NDArray[np.int64]
) -> Documents:
    """Those documents of a unit whose indices are given, ascending; neighbours stay one run of ids."""
    import numpy as np

    breaks = np.flatnonzero(np.diff(index) != 1) + 1
    firsts = index[np.concatenate(([0], breaks))]
    lasts = index[np.concatenate((breaks - 1, [len(index) - 1]))]
    bounds = zip(unit.offsets[firsts].tolist(), unit.offsets[lasts + 1].tolist(), strict=True)
    return Documents(
        ids=[unit.ids[start:stop] for start, stop in bounds],
        lengths=lengths[index],
        nbytes=unit.nbytes[index],
        digest=digest_sum(unit.digests[index]),
        domains=None if domains is None else domains[index],
    )


def digest_sum(digests: NDArray[np.uint8]) -> int:
    """The sum modulo 2^256 of digests, uint8[n, 32], each a number with its first byte highest."""
    import numpy as np

    words = np.ascontiguousarray(digests).view(">u4").reshape(-1, 8).sum(axis=0, dtype=np.uint64)
    total = 0
    for word in words.tolist():
        total = (total << 32) + word
    return total % (1 << 256)
