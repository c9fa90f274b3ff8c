"""Packing strategies: ways to fill sequences of `seq_len` columns with documents.

| name | padding | documents cut | use |
|---|---|---|---|
| `concat` | last sequence only | at every sequence end | training, all comparisons of tokenizers |
| `first_fit` | 1-5 % | only those longer than `seq_len` | streams of any length in bounded memory |
| `best_fit` | about 0.3 % | only those longer than `seq_len` | sequences that never cut short documents |
| `best_fit_crop` | none | cropped, the rest is discarded | reproducing nanochat |
| `bucket` | about 5 % | only those longer than `seq_len` | recurrent models, padded batches |
| `stateful` | the last batches only | at every sequence end | recurrent models and `infini` with truncated BPTT |

A new strategy is a `Packing` in a file of its own (or here) and one line in `PACKS`.
"""

from __future__ import annotations

import bisect
import heapq
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from slmmodel.data.packing import EndToEnd, Ints, Packing, Spans, concatenate_ranges, prefix_sums
from slmmodel.errors import Argument, InvalidConfig
from slmmodel.sizes import ceil_div, round_up

BUCKET_POOL = 100
"""`bucket` sorts pools of this many batches."""
BUCKET_MULTIPLE = 8
"""Lengths of buckets are multiples of this."""


class Concat(EndToEnd):
    """All inputs end to end, cut every `seq_len`; each is scored exactly once.

    `offset` joins the ends to a ring and starts cutting `offset` inputs later, so the number of sequences and their
    padding stay the same. The sequence across the join holds two spans: the end of the last document and the beginning
    of the first. `shuffle_bytes`: size of the units of text that the loader permutes; 0 permutes sequences.
    """

    name = "concat"
    OPTIONS: ClassVar = {"shuffle_bytes": 0}
    has_offset = True

    def __len__(self) -> int:
        return ceil_div(self._total, self.seq_len)

    def first_bytes(self, nbytes: Ints) -> Ints:
        """The bytes of text before each sequence, in the order of the documents: int64 [len(self)].

        `nbytes` int64 [n_docs]: raw bytes of each document. Inside a document they are spread evenly over its inputs.
        """
        first = self._ranges(np.arange(len(self), dtype=np.int64))[0] % max(1, self._total)
        doc = np.searchsorted(self._starts, first, side="right") - 1
        sizes, before = nbytes[self.order], prefix_sums(nbytes[self.order])
        share = (first - self._starts[doc]) / np.maximum(np.diff(self._starts)[doc], 1)
        return np.asarray(before[doc] + sizes[doc] * share, dtype=np.int64)

    def _ranges(self, indices: Any) -> tuple[Any, Any]:
        first = self.offset % max(1, self._total)
        starts = first + indices * self.seq_len
        return starts, np.minimum(starts + self.seq_len, first + self._total)


class Stateful(EndToEnd):
    """Truncated BPTT: all inputs end to end, cut into `batch_size` equal streams that are read side by side.

    Sequence `k` is number `k // batch_size` of stream `k % batch_size`, so row `r` of each batch continues row `r` of
    the batch before, and a recurrent model carries its state over. Padding is in the last batch, and at the ends of the
    last streams, which lack up to `batch_size - 1` inputs in all.
    """

    name = "stateful"
    OPTIONS: ClassVar = {"batch_size": 32}
    permutes_sequences = False
    carries_state = True
    validation_pack = "bucket"

    def __len__(self) -> int:
        return ceil_div(self._stream_length, self.seq_len) * int(self.options["batch_size"])

    @property
    def _stream_length(self) -> int:
        """Inputs of each stream; the last one may have fewer."""
        return ceil_div(self._total, int(self.options["batch_size"]))

    def _ranges(self, indices: Any) -> tuple[Any, Any]:
        number, row = divmod(indices, self.options["batch_size"])
        ends = np.minimum((row + 1) * self._stream_length, self._total)
        starts = np.minimum(row * self._stream_length + number * self.seq_len, ends)
        return starts, np.minimum(starts + self.seq_len, ends)


class Items(NamedTuple):
    """What bin packing places: documents, or parts of long ones, the inputs `start` to `stop - 1` of `doc`.

    All int64 [n], in document order of the packing.
    """

    doc: Ints
    start: Ints
    stop: Ints

    @property
    def sizes(self) -> Ints:
        """Inputs of each item."""
        return self.stop - self.start


class BinPacking(Packing):
    """Sequences as bins of whole items, one behind the other. Storage: four numbers an item and two a sequence."""

    OPTIONS: ClassVar = {"long": "split"}

    def _items(self) -> Items:
        """Items of at most `seq_len` inputs: all documents that have any.

        The option `long` says what happens to longer documents: `split`, `error` or `drop`. Raises `InvalidConfig`.
        """
        docs, seq_len, long = self.order, self.seq_len, self.options["long"]
        if long == "error" and len(docs) and int(self.n_inputs.max()) > seq_len:
            longest = int(self.n_inputs.argmax())
            raise InvalidConfig(
                f"document {longest} has {int(self.n_inputs[longest]) + 1} ids",
                limit=f"seq_len + 1 is {seq_len + 1}",
                fix=(Argument("data.options.long", "split"),),
                doc=longest,
            )
        if long == "drop":
            docs = docs[self.n_inputs[docs] <= seq_len]
        counts = -(-self.n_inputs[docs] // seq_len)
        doc = np.repeat(docs, counts)
        start = (np.arange(len(doc), dtype=np.int64) - np.repeat(prefix_sums(counts)[:-1], counts)) * seq_len
        return Items(doc, start, np.minimum(start + seq_len, self.n_inputs[doc]))

    def _place(self, items: Items, chosen: Ints, sequences: Ints) -> None:
        """Puts item `chosen[i]` into sequence `sequences[i]`; items of one sequence keep this order."""
        by_sequence = chosen[np.argsort(sequences, kind="stable")]
        self._placed = Items(*(field[by_sequence] for field in items))
        # Sequence `k` holds the items `_starts[k]` to `_starts[k + 1] - 1`, and `_filled[k + 1] - _filled[k]` inputs.
        self._starts = prefix_sums(np.bincount(sequences).astype(np.int64))
        self._before = prefix_sums(self._placed.sizes)
        self._filled = self._before[self._starts]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def spans_of(self, indices: Ints) -> Spans:
        """See `Packing`."""
        row, item = concatenate_ranges(self._starts[indices], self._starts[indices + 1])
        doc, start, stop = (field[item] for field in self._placed)
        return Spans(row, doc, start, stop, self._before[item] - self._filled[indices][row])

    def _targets(self, indices: Ints) -> Ints:
        return self._filled[indices + 1] - self._filled[indices]

    def _n_cut(self) -> int:
        doc = self._placed.doc
        return int(np.unique(doc[self._placed.sizes < self.n_inputs[doc]]).size)


class FirstFit(BinPacking):
    """Each item into the first open sequence with room, in document order; the oldest of `open_rows` closes first."""

    name = "first_fit"
    OPTIONS: ClassVar = {"open_rows": 256, "long": "split"}

    def _arrange(self) -> None:
        items = self._items()
        sequences = first_fit(items.sizes, self.seq_len, self.options["open_rows"])
        self._place(items, np.arange(len(sequences)), sequences)


def first_fit(sizes: Ints, seq_len: int, open_rows: int) -> Ints:
    """The sequence of each item: int64 [n]. Room of open sequences is kept in an array, oldest first."""
    out = np.empty(len(sizes), dtype=np.int64)
    open_ids: list[int] = []
    room = np.zeros(open_rows, dtype=np.int64)
    n_sequences = 0

    def close(number: int) -> None:
        n_open = len(open_ids)
        del open_ids[number]
        room[number : n_open - 1] = room[number + 1 : n_open].copy()

    for index, size in enumerate(sizes.tolist()):
        fits = room[: len(open_ids)] >= size
        number = int(fits.argmax()) if open_ids else 0
        if not open_ids or not fits[number]:
            if len(open_ids) == open_rows:
                close(0)
            number = len(open_ids)
            open_ids.append(n_sequences)
            room[number] = seq_len
            n_sequences += 1
        out[index] = open_ids[number]
        room[number] -= size
        if not room[number]:
            close(number)
    return out


class BestFit(BinPacking):
    """Items by descending length into the sequence with the least sufficient room, in chunks of `chunk` documents.

    Ties: document order of items, lowest index of sequences.
    """

    name = "best_fit"
    OPTIONS: ClassVar = {"chunk": 65_536, "long": "split"}

    def _arrange(self) -> None:
        items = self._items()
        # Items of one document are adjacent, so a chunk of documents is a range of items.
        new_doc = np.flatnonzero(np.diff(items.doc, prepend=-1))
        by_length: list[Ints] = [np.empty(0, dtype=np.int64)]
        sequences: list[int] = []
        n_sequences = 0
        for start, stop in pairwise([*new_doc[:: self.options["chunk"]].tolist(), len(items.doc)]):
            by_length.append(start + np.argsort(-items.sizes[start:stop], kind="stable"))
            placed, n_sequences = best_fit(items.sizes[by_length[-1]].tolist(), self.seq_len, n_sequences)
            sequences += placed
        self._place(items, np.concatenate(by_length), np.array(sequences, dtype=np.int64))


def best_fit(sizes: list[int], seq_len: int, n_sequences: int) -> tuple[list[int], int]:
    """The sequence of each item, numbered from `n_sequences` on, and the new number of sequences.

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


class BestFitCrop(BinPacking):
    """nanochat's packing: the largest of `buffer` documents that fits; else the shortest is cropped.

    No padding; the last documents that do not fill a sequence are left out. About 35 % of tokens are discarded at
    seq_len 2048, and which ones depends on the tokenizer: never compare two tokenizers with it.
    """

    name = "best_fit_crop"
    OPTIONS: ClassVar = {"buffer": 1000}

    def _arrange(self) -> None:
        docs = self.order[self.n_inputs[self.order] > 0]
        taken = best_fit_crop(self.n_inputs[docs].tolist(), self.seq_len, self.options["buffer"])
        sequences, numbers, sizes = np.array(taken, dtype=np.int64).reshape(-1, 3).T
        self._place(Items(docs[numbers], np.zeros_like(sizes), sizes), np.arange(len(sizes)), sequences)


def best_fit_crop(sizes: list[int], seq_len: int, buffer: int) -> list[tuple[int, int, int]]:
    """(sequence, document, inputs taken) of all sequences that are full."""
    held: list[tuple[int, int]] = []  # (inputs, -number), ascending: of equal sizes the earliest is last
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
            largest_fitting = bisect.bisect_right(held, (room, 1)) - 1
            size, doc = held.pop(max(largest_fitting, 0))
            taken.append((sequence, -doc, min(size, room)))
            room -= min(size, room)
        out += taken
        sequence += 1


class Bucket(BinPacking):
    """One item a sequence; sequences of similar length form a batch of one length.

    A pool of `100 * batch_size` items in document order is sorted by length (ties: document order) and cut into batches
    with length times sequences close to `batch_size * seq_len`.
    """

    name = "bucket"
    OPTIONS: ClassVar = {"batch_size": 32, "long": "split"}
    forms_batches = True
    validation_pack = "bucket"

    def _arrange(self) -> None:
        items, batch_size = self._items(), int(self.options["batch_size"])
        chosen: list[Ints] = [np.empty(0, dtype=np.int64)]
        batches: list[tuple[int, int]] = []
        pool = BUCKET_POOL * batch_size
        for start in range(0, len(items.doc), pool):
            chosen.append(start + np.argsort(items.sizes[start : start + pool], kind="stable"))
            batches += bucket_batches(items.sizes[chosen[-1]].tolist(), self.seq_len, batch_size * self.seq_len)
        self._place(items, np.concatenate(chosen), np.arange(len(items.doc), dtype=np.int64))
        self._lengths, counts = np.array(batches, dtype=np.int64).reshape(-1, 2).T
        # Batch `k` holds the sequences `_batch_starts[k]` to `_batch_starts[k + 1] - 1`.
        self._batch_starts = prefix_sums(counts)

    @property
    def n_groups(self) -> int:
        """Batches in one epoch."""
        return len(self._lengths)

    def sequences_of(self, groups: Ints) -> Ints:
        """See `Packing`."""
        return concatenate_ranges(self._batch_starts[groups], self._batch_starts[groups + 1])[1]

    def n_columns_of(self, indices: Ints) -> Ints:
        """The lengths of the batches of these sequences."""
        lengths: Ints = self._lengths[self._batch_starts.searchsorted(indices, side="right") - 1]
        return lengths

    @property
    def n_columns(self) -> int:
        """See `Packing`."""
        return int(self._lengths @ np.diff(self._batch_starts))


def bucket_batches(sizes: list[int], seq_len: int, max_columns: int) -> list[tuple[int, int]]:
    """(length, sequences) of batches of items that ascend in size, each of at most `max_columns` columns."""

    def rounded(size: int) -> int:
        return min(seq_len, round_up(size, BUCKET_MULTIPLE))

    batches: list[tuple[int, int]] = []
    start = 0
    while start < len(sizes):
        stop = start + 1
        while stop < len(sizes) and (stop + 1 - start) * rounded(sizes[stop]) <= max_columns:
            stop += 1
        batches.append((rounded(sizes[stop - 1]), stop - start))
        start = stop
    return batches


PACKS: dict[str, type[Packing]] = {
    pack.name: pack for pack in (Concat, FirstFit, BestFit, BestFitCrop, Bucket, Stateful)
}
