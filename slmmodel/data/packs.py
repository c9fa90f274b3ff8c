"""Packing strategies: ways to fill sequences of `seq_len` positions with documents.

| name | padding | documents cut | use |
|---|---|---|---|
| `concat` | last sequence only | at every sequence end | training, all comparisons of tokenizers |
| `first_fit` | 1-5 % | only those longer than `seq_len` | streams of any length in bounded memory |
| `best_fit` | about 0.3 % | only those longer than `seq_len` | sequences that never cut short documents |
| `best_fit_crop` | none | cropped, the rest is discarded | reproducing nanochat |
| `bucket` | about 5 % | only those longer than `seq_len` | recurrent models, padded batches |
| `stateful` | last step only | at every sequence end | recurrent models with truncated BPTT |

A new strategy is a `Plan` in a file of its own (or here) and one line in `PACKS`.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from slmmodel.data.spans import ConcatenatedPairs, Ints, Plan, PlanStats, Span, in_order, starts_of
from slmmodel.errors import DocumentTooLong, InvalidPlan

LONG = ("split", "error", "drop")
BUCKET_POOL = 100
"""`bucket` sorts pools of this many batches."""
BUCKET_MULTIPLE = 8
"""Lengths of buckets are multiples of this."""


class Concat(Plan):
    """All pairs end to end, cut every `seq_len`; each pair is scored exactly once.

    `offset` joins the ends to a ring and starts cutting `offset` pairs later, so the number of sequences and their
    padding stay the same. The sequence across the join holds two spans: the end of the last document and the beginning
    of the first.
    """

    name = "concat"

    def __init__(
        self, pairs: Ints, seq_len: int, *, order: Ints | None = None, offset: int = 0, **options: Any
    ) -> None:
        super().__init__(pairs, seq_len, **options, **({"offset": offset} if offset else {}))
        self._all = ConcatenatedPairs(pairs, order)
        self._offset = offset % max(1, self._all.total)

    def __len__(self) -> int:
        return -(-self._all.total // self.seq_len)

    def spans(self, index: int) -> list[Span]:
        """See `Plan`."""
        self._check_index(index)
        total, start = self._all.total, self._offset + index * self.seq_len
        stop = min(start + self.seq_len, self._offset + total)
        head = self._all.spans(start, min(stop, total))
        return head + self._all.spans(max(start - total, 0), stop - total, at=max(total - start, 0))

    def n_targets(self, indices: Ints) -> int:
        """See `Plan`."""
        padding = len(self) * self.seq_len - self._all.total
        return len(indices) * self.seq_len - padding * int(np.count_nonzero(indices == len(self) - 1))

    def stats(self) -> PlanStats:
        """See `Plan`."""
        total, once = self._all.total, int(self._all.total > 0)
        cuts = (self._offset + np.arange(0, total, self.seq_len, dtype=np.int64)) % max(1, total)
        return self._stats(
            targets=total,
            filled=total,
            positions=len(self) * self.seq_len,
            scored=(once, once),
            cut=self._all.n_cut(cuts),
        )


class Stateful(Plan):
    """Truncated BPTT: all pairs end to end, cut into `batch_size` equal streams that are read side by side.

    Sequence `k` is step `k // batch_size` of stream `k % batch_size`; a recurrent model carries its state from step to
    step. Only the last step of a stream has padding.
    """

    name = "stateful"
    sequential = True

    def __init__(self, pairs: Ints, seq_len: int, *, order: Ints | None = None, batch_size: int = 32) -> None:
        super().__init__(pairs, seq_len, batch_size=batch_size)
        _at_least_one("batch_size", batch_size)
        self._all, self._streams = ConcatenatedPairs(pairs, order), batch_size
        self._stream_len = -(-self._all.total // batch_size)

    def __len__(self) -> int:
        return -(-self._stream_len // self.seq_len) * self._streams

    def _range(self, index: int) -> tuple[int, int]:
        step, stream = divmod(index, self._streams)
        end = min((stream + 1) * self._stream_len, self._all.total)
        start = stream * self._stream_len + step * self.seq_len
        return min(start, end), min(start + self.seq_len, end)

    def spans(self, index: int) -> list[Span]:
        """See `Plan`."""
        self._check_index(index)
        return self._all.spans(*self._range(index))

    def n_targets(self, indices: Ints) -> int:
        """See `Plan`."""
        return sum(stop - start for start, stop in (self._range(int(index)) for index in indices))

    def stats(self) -> PlanStats:
        """See `Plan`."""
        total, once = self._all.total, int(self._all.total > 0)
        starts = np.unique(np.array([self._range(index)[0] for index in range(len(self))], dtype=np.int64))
        return self._stats(
            targets=total,
            filled=total,
            positions=len(self) * self.seq_len,
            scored=(once, once),
            cut=self._all.n_cut(starts),
        )


class Pieces(NamedTuple):
    """Pairs `lo` to `hi - 1` of document `doc`, one piece an entry, in plan order. All int64 [n]."""

    doc: Ints
    lo: Ints
    hi: Ints

    @property
    def sizes(self) -> Ints:
        """Pairs of each piece."""
        return self.hi - self.lo

    def take(self, indices: Ints) -> Pieces:
        """The pieces at these indices."""
        return Pieces(self.doc[indices], self.lo[indices], self.hi[indices])


def split_documents(pairs: Ints, seq_len: int, order: Ints | None, long: str) -> Pieces:
    """Pieces of at most `seq_len` pairs of all documents that have any.

    `long` says what happens to longer documents: `split`, `error` or `drop`. Raises `DocumentTooLong`, `InvalidPlan`.
    """
    if long not in LONG:
        raise InvalidPlan(f"long is {long!r}", limit=f"one of {', '.join(LONG)}", fix="--set data.options.long=split")
    docs = np.arange(len(pairs), dtype=np.int64) if order is None else order
    sizes = in_order(pairs, order)
    if long == "error" and len(pairs) and int(pairs.max()) > seq_len:
        longest = int(pairs.argmax())
        raise DocumentTooLong(
            f"document {longest} has {int(pairs[longest])} pairs",
            limit=f"seq_len is {seq_len}",
            fix="--set data.options.long=split",
            doc=longest,
        )
    if long == "drop":
        docs, sizes = docs[sizes <= seq_len], sizes[sizes <= seq_len]
    counts = -(-sizes // seq_len)
    doc = np.repeat(docs, counts)
    lo = (np.arange(len(doc), dtype=np.int64) - np.repeat(starts_of(counts)[:-1], counts)) * seq_len
    return Pieces(doc, lo, np.minimum(lo + seq_len, pairs[doc]))


class PlacedPieces(Plan):
    """Sequences of whole pieces, one behind the other. Storage: three numbers a piece and one a sequence."""

    _pieces: Pieces
    _starts: Ints
    """Sequence `k` holds the pieces `_starts[k]` to `_starts[k + 1] - 1`."""

    def _place(self, pieces: Pieces, sequence: Ints) -> None:
        """Assigns each piece to a sequence; pieces of one sequence keep their order."""
        self._pieces = pieces.take(np.argsort(sequence, kind="stable"))
        self._starts = starts_of(np.bincount(sequence, minlength=0).astype(np.int64))
        self._filled = starts_of(self._pieces.sizes)[self._starts]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def spans(self, index: int) -> list[Span]:
        """See `Plan`."""
        self._check_index(index)
        out: list[Span] = []
        at = 0
        for piece in range(int(self._starts[index]), int(self._starts[index + 1])):
            doc, lo, hi = (int(field[piece]) for field in self._pieces)
            out.append(Span(doc, lo, hi, at))
            at += hi - lo
        return out

    def n_targets(self, indices: Ints) -> int:
        """See `Plan`."""
        indices = np.asarray(indices, dtype=np.int64)
        return int((self._filled[indices + 1] - self._filled[indices]).sum()) if indices.size else 0

    def stats(self) -> PlanStats:
        """See `Plan`."""
        targets, pairs = int(self._pieces.sizes.sum()), int(self.pairs.sum())
        return self._stats(
            targets=targets,
            filled=targets,
            positions=sum(self.length(index) for index in range(len(self))),
            scored=(0 if targets < pairs else int(pairs > 0), int(targets > 0)),
            cut=int(np.unique(self._pieces.doc[self._pieces.sizes < self.pairs[self._pieces.doc]]).size),
            dropped=pairs - targets,
        )


class FirstFit(PlacedPieces):
    """Each piece into the first open sequence with room, in plan order; the oldest of `open_rows` closes first."""

    name = "first_fit"

    def __init__(
        self, pairs: Ints, seq_len: int, *, order: Ints | None = None, open_rows: int = 256, long: str = "split"
    ) -> None:
        super().__init__(pairs, seq_len, open_rows=open_rows, long=long)
        _at_least_one("open_rows", open_rows)
        pieces = split_documents(pairs, seq_len, order, long)
        self._place(pieces, first_fit(pieces.sizes, seq_len, open_rows))


def first_fit(sizes: Ints, seq_len: int, open_rows: int) -> Ints:
    """The sequence of each piece: int64 [n]. Room of open sequences is kept in an array, oldest first."""
    out = np.empty(len(sizes), dtype=np.int64)
    open_ids: list[int] = []
    room = np.zeros(open_rows, dtype=np.int64)
    n_sequences = 0

    def close(place: int) -> None:
        used = len(open_ids)
        del open_ids[place]
        room[place : used - 1] = room[place + 1 : used].copy()

    for index, size in enumerate(sizes.tolist()):
        fits = room[: len(open_ids)] >= size
        place = int(fits.argmax()) if open_ids else 0
        if not open_ids or not fits[place]:
            if len(open_ids) == open_rows:
                close(0)
            place = len(open_ids)
            open_ids.append(n_sequences)
            room[place] = seq_len
            n_sequences += 1
        out[index] = open_ids[place]
        room[place] -= size
        if not room[place]:
            close(place)
    return out


class BestFit(PlacedPieces):
    """Pieces by descending length into the sequence with the least sufficient room, in chunks of `chunk` documents.

    Ties: plan order of pieces, lowest index of sequences.
    """

    name = "best_fit"

    def __init__(
        self, pairs: Ints, seq_len: int, *, order: Ints | None = None, chunk: int = 65_536, long: str = "split"
    ) -> None:
        super().__init__(pairs, seq_len, chunk=chunk, long=long)
        _at_least_one("chunk", chunk)
        pieces = split_documents(pairs, seq_len, order, long)
        # Pieces of one document are adjacent, so a chunk of documents is a range of pieces.
        new_doc = np.flatnonzero(np.r_[True, pieces.doc[1:] != pieces.doc[:-1]]) if len(pieces.doc) else pieces.doc
        by_length: list[Ints] = [np.empty(0, dtype=np.int64)]
        sequences: list[int] = []
        n_sequences = 0
        for start, stop in pairwise([*new_doc[::chunk].tolist(), len(pieces.doc)]):
            by_length.append(start + np.argsort(-pieces.sizes[start:stop], kind="stable"))
            placed, n_sequences = best_fit(pieces.sizes[by_length[-1]].tolist(), seq_len, n_sequences)
            sequences += placed
        self._place(pieces.take(np.concatenate(by_length)), np.array(sequences, dtype=np.int64))


def best_fit(sizes: list[int], seq_len: int, n_sequences: int) -> tuple[list[int], int]:
    """The sequence of each piece, numbered from `n_sequences` on, and the new number of sequences.

    One heap of sequences for each remaining room and a bit set of rooms that are not empty: O(n log seq_len).
    """
    by_room: list[list[int]] = [[] for _ in range(seq_len + 1)]
    rooms = 0
    placed: list[int] = []
    for size in sizes:
        sufficient = rooms >> size
        if sufficient:
            room = size + (sufficient & -sufficient).bit_length() - 1
            sequence = heapq.heappop(by_room[room])
            if not by_room[room]:
                rooms ^= 1 << room
        else:
            sequence, room, n_sequences = n_sequences, seq_len, n_sequences + 1
        placed.append(sequence)
        if room > size:
            heapq.heappush(by_room[room - size], sequence)
            rooms |= 1 << (room - size)
    return placed, n_sequences


class BestFitCrop(PlacedPieces):
    """nanochat's packing: the largest of `buffer` documents that fits; else the shortest is cropped.

    No padding; the last documents that do not fill a sequence are left out. About 35 % of tokens are discarded at
    seq_len 2048, and which ones depends on the tokenizer: never compare two tokenizers with it.
    """

    name = "best_fit_crop"

    def __init__(
        self, pairs: Ints, seq_len: int, *, order: Ints | None = None, buffer: int = 1000, **options: Any
    ) -> None:
        super().__init__(pairs, seq_len, buffer=buffer, **options)
        _at_least_one("buffer", buffer)
        docs = np.arange(len(pairs), dtype=np.int64) if order is None else order
        sizes = in_order(pairs, order)
        docs, sizes = docs[sizes > 0], sizes[sizes > 0]
        table = np.array(best_fit_crop(sizes.tolist(), seq_len, buffer), dtype=np.int64).reshape(-1, 3)
        doc = docs[table[:, 1]]
        self._place(Pieces(doc, np.zeros(len(doc), dtype=np.int64), table[:, 2]), table[:, 0])


def best_fit_crop(sizes: list[int], seq_len: int, buffer: int) -> list[tuple[int, int, int]]:
    """(sequence, document, pairs taken) of all sequences that are full."""
    held: list[tuple[int, int]] = []  # (pairs, -plan position), ascending: of equal sizes the earliest is last
    read = sequence = 0
    out: list[tuple[int, int, int]] = []
    while True:
        room, taken = seq_len, []
        while room:
            while read < len(sizes) and len(held) < buffer:
                bisect.insort(held, (sizes[read], -read))
                read += 1
            if not held:
                return out
            place = bisect.bisect_right(held, (room, 1)) - 1
            size, doc = held.pop(max(place, 0))
            taken.append((sequence, -doc, min(size, room)))
            room -= min(size, room)
        out += taken
        sequence += 1


class Bucket(PlacedPieces):
    """One piece a sequence; sequences of similar length form a group of one length, and a step takes one group.

    A pool of `100 * batch_size` documents in plan order is sorted by length (ties: plan order) and cut into groups with
    length times sequences close to `batch_size * seq_len`.
    """

    name = "bucket"
    grouped = True

    def __init__(
        self, pairs: Ints, seq_len: int, *, order: Ints | None = None, batch_size: int = 32, long: str = "split"
    ) -> None:
        super().__init__(pairs, seq_len, batch_size=batch_size, long=long)
        _at_least_one("batch_size", batch_size)
        pieces = split_documents(pairs, seq_len, order, long)
        chosen: list[Ints] = [np.empty(0, dtype=np.int64)]
        groups: list[tuple[int, int]] = []
        pool = BUCKET_POOL * batch_size
        for start in range(0, len(pieces.doc), pool):
            chosen.append(start + np.argsort(pieces.sizes[start : start + pool], kind="stable"))
            groups += bucket_groups(pieces.sizes[chosen[-1]].tolist(), seq_len, batch_size * seq_len)
        picked = np.concatenate(chosen)
        self._place(pieces.take(picked), np.arange(len(picked), dtype=np.int64))
        self._group_starts = starts_of(np.array([count for _, count in groups], dtype=np.int64))
        self._lengths = np.array([length for length, _ in groups], dtype=np.int64)

    def length(self, index: int) -> int:
        """The length of the sequence's group."""
        self._check_index(index)
        return int(self._lengths[np.searchsorted(self._group_starts, index, side="right") - 1])

    @property
    def n_groups(self) -> int:
        """See `Plan`."""
        return len(self._lengths)

    def group(self, number: int) -> Ints:
        """See `Plan`."""
        return np.arange(self._group_starts[number], self._group_starts[number + 1], dtype=np.int64)


def bucket_groups(sizes: list[int], seq_len: int, positions: int) -> list[tuple[int, int]]:
    """(length, sequences) of groups of pieces that ascend in size, each of at most `positions` positions."""

    def rounded(size: int) -> int:
        return min(seq_len, -(-size // BUCKET_MULTIPLE) * BUCKET_MULTIPLE)

    out: list[tuple[int, int]] = []
    start = 0
    while start < len(sizes):
        stop = start + 1
        while stop < len(sizes) and (stop + 1 - start) * rounded(sizes[stop]) <= positions:
            stop += 1
        out.append((rounded(sizes[stop - 1]), stop - start))
        start = stop
    return out


def _at_least_one(option: str, value: int) -> None:
    if value < 1:
        raise InvalidPlan(f"{option} is {value}", limit="at least 1", fix=f"--set data.options.{option}=1")


PACKS: dict[str, Callable[..., Plan]] = {
    "concat": Concat,
    "first_fit": FirstFit,
    "best_fit": BestFit,
    "best_fit_crop": BestFitCrop,
    "bucket": Bucket,
    "stateful": Stateful,
}
