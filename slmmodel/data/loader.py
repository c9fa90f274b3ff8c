"""`Loader`: the sequences of each training step, and their tensors.

`global_batch(cursor)` chooses sequences by the lengths of documents: of shards it reads no ids, text is tokenized for
them. `batch(sequence_keys)` assembles the tensors of any sequences.
Two permutations: of the documents of a block before packing (`shuffle`), of its sequences after it (always, but for
`stateful`: truncated BPTT).
All state is a `Cursor` of three integers that the caller keeps. The sequences of a step depend on data, packing and
seed alone, not on world size, micro-batch, threads or interruptions. A step may straddle blocks and epochs. One thread
assembles prefetched batches and reads the next block of a source with several; it changes no result.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from slmmodel import rng
from slmmodel.calls import explains_calls
from slmmodel.checks import check_bool, check_int
from slmmodel.data.batch import Batch, Part, assemble
from slmmodel.data.order import permute
from slmmodel.data.packing import Ints, Packing, check_choice, check_range
from slmmodel.data.packs import Concat
from slmmodel.data.source import DocumentBlock, NoSuchBlockError, TokenSource
from slmmodel.data.strategies import make_packing, strategy_of
from slmmodel.errors import Argument, InvalidConfig, WrongType
from slmmodel.foreign_attributes import OF_LOADERS, explains_absent_names
from slmmodel.indexing import explains_indexing
from slmmodel.vocab import VocabMeta

_CACHE_SIZE = 3
"""Blocks, packings and prefetched batches that are kept: the present one, the next, and one for lookups behind."""

_CHUNK = 1 << 12
"""Indices that are permuted at once."""


@explains_indexing
class Cursor(NamedTuple):
    """Where the next step begins: epoch, block, and sequences of that block already taken.

    A block is the documents that are read and shuffled together; packed data have one. With `bucket`, a packing whose
    batches have sequences of similar length, batches are counted instead of sequences.
    """

    epoch: int = 0
    block: int = 0
    taken: int = 0


@explains_indexing
class GlobalBatch(NamedTuple):
    """The sequences of one step, over all ranks and micro-batches: keys only, the same on every rank."""

    sequence_keys: Ints
    """[n, 3]: epoch, block and index of each sequence; n is batch_size, or less or more with `bucket`"""
    n_targets: int
    """Scored targets of these sequences."""
    next: Cursor
    """Where the next step begins."""


class _Cache:
    """The last few values by key. Concurrent callers wait for one computation; errors are not cached."""

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, compute: Callable[[], Any]) -> Any:
        value = self._values.get(key)  # without the lock: values that exist never wait for a computation
        if value is None:
            with self._lock:
                if key not in self._values:
                    self._values[key] = compute()
                    for old in list(self._values)[:-_CACHE_SIZE]:
                        del self._values[old]
                value = self._values[key]
        return value


@explains_absent_names(OF_LOADERS)
class Loader:
    """Global batches of a source under one packing: `batch_size` sequences of `seq_len` each."""

    @explains_calls
    def __init__(
        self,
        source: TokenSource,
        vocab: VocabMeta,
        *,
        seq_len: int,
        batch_size: int,
        pack: str = "concat",
        seed: int = 0,
        shuffle: bool = True,
        crop_offset: str = "random",
        positions: str | None = None,
        pin: bool = False,
        **options: Any,
    ) -> None:
        if isinstance(source, str | os.PathLike):
            fix = f"source = open_source({os.fspath(source)!r}), then Loader(source, source.vocab, ...)"
            raise WrongType(f"source is a {type(source).__name__}, not an opened source", fix=fix)
        if not hasattr(source, "block"):
            fix = "source = open_source('data'), then Loader(source, source.vocab, ...)"
            raise WrongType(f"source is a {type(source).__name__}, not an opened source", fix=fix)
        if not isinstance(vocab, VocabMeta):
            of_source = "Loader(source, source.vocab, ...)"
            limit = "a VocabMeta, which says what the ids of the source stand for"
            raise WrongType(f"vocab is a {type(vocab).__name__}, not a VocabMeta", limit=limit, fix=of_source)
        check_int("seq_len", seq_len, None, example=256)
        check_int("batch_size", batch_size, None, example=8)
        check_int("seed", seed, None)
        check_bool("shuffle", shuffle)
        check_bool("pin", pin)
        strategy = strategy_of(pack)
        check_choice("positions", positions or strategy.default_positions)
        check_choice("crop_offset", crop_offset)
        check_range("batch_size", batch_size, 1, fix=(Argument("batch_size", 8), ", for instance"))
        self.source, self.vocab, self.seq_len, self.batch_size = source, vocab, seq_len, batch_size
        self.strategy, self.pack, self.seed = strategy, pack, seed
        self.shuffles_documents, self.positions, self.pin = shuffle, positions, pin
        self.options = {"batch_size": batch_size, **options} if "batch_size" in strategy.OPTIONS else options
        self.crop_offset = crop_offset if strategy.has_offset else "fixed"
        self._blocks, self._packings, self._orders = _Cache(), _Cache(), _Cache()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="slm-prefetch")
        self._ready: dict[bytes, Future[Batch]] = {}
        self._following: int | None = None  # the block that was read ahead last
        self.seconds_waited = 0.0
        """Time that callers of `global_batch` and `batch` spent in them."""
        self.packing(0, 0)

    def document_block(self, index: int) -> DocumentBlock:
        """A block of the source. Raises `NoSuchBlockError` past the last one."""
        block: DocumentBlock = self._blocks.get(index, lambda: self.source.block(index))
        return block

    def packing(self, epoch: int, block: int) -> Packing:
        """The sequences of a block in an epoch."""
        same_each_epoch = not self.shuffles_documents and self.crop_offset == "fixed"
        packing: Packing = self._packings.get(
            (0 if same_each_epoch else epoch, block),
            lambda: make_packing(
                self.pack,
                self.document_block(block).lengths(),
                self.seq_len,
                seed=_block_seed(self.seed, block),
                epoch=epoch,
                shuffle=self.shuffles_documents,
                crop_offset=self.crop_offset,
                # Prompts of generated tasks, whose answers alone count in the loss.
                unscored=self.document_block(block).unscored(),
                **self.options,
            ),
        )
        return packing

    @property
    def groups_per_step(self) -> int:
        """Groups that a step takes. A group is a sequence; of `bucket` a batch (`Packing.forms_batches`)."""
        return 1 if self.strategy.forms_batches else self.batch_size

    @property
    def digest(self) -> str:
        """SHA-256 over the data and everything that decides which sequences a step takes."""
        content = [self.source.digest, self.vocab.fingerprint, self.pack, self.seq_len, self.batch_size, self.seed]
        content += [self.shuffles_documents, self.crop_offset, self.positions, sorted(self.options.items())]
        return hashlib.sha256(repr(content).encode()).hexdigest()

    def global_batch(self, cursor: Cursor) -> GlobalBatch:
        """The global batch of the step that begins at `cursor`. A pure function; of shards it reads no ids."""
        with self._timed():
            return self._global_batch(cursor)

    def _global_batch(self, cursor: Cursor) -> GlobalBatch:
        epoch, block, taken = cursor
        keys: list[Ints] = []
        missing, n_targets, empty_blocks = self.groups_per_step, 0, 0
        while missing > 0:
            try:
                packing = self.packing(epoch, block)
            except NoSuchBlockError:
                epoch, block, taken = epoch + 1, 0, 0
                continue
            empty_blocks = 0 if len(packing) else empty_blocks + 1
            if empty_blocks > 1 + (self.source.n_blocks or block + 1):
                raise InvalidConfig("the data have no targets to train on", fix="pack a corpus with text in it")
            groups = np.arange(taken, min(taken + missing, packing.n_groups), dtype=np.int64)
            taken, missing = taken + len(groups), missing - len(groups)
            if groups.size:
                if packing.permutes_sequences:
                    groups = self._permuted(packing, groups, epoch, block)
                indices = packing.sequences_of(groups)
                n_targets += packing.n_targets(indices)
                keys.append(np.column_stack([np.full_like(indices, epoch), np.full_like(indices, block), indices]))
            if taken >= packing.n_groups:
                block, taken = block + 1, 0
        return GlobalBatch(np.concatenate(keys), n_targets, Cursor(epoch, block, taken))

    def _permuted(self, packing: Packing, indices: Ints, epoch: int, block: int) -> Ints:
        """The groups of sequences at these consecutive indices of the order of an epoch.

        With the option `shuffle_bytes`, units of that many bytes of text are permuted instead of sequences, so that
        runs of an ablation, whose tokenizers make sequences of different length, read the same text at the same time.
        """
        seed, unit_bytes = _block_seed(self.seed, block), int(packing.options.get("shuffle_bytes", 0))
        if not unit_bytes:
            return self._permutation(indices, packing.n_groups, seed, epoch)
        assert isinstance(packing, Concat)

        def order() -> Ints:
            nbytes = self.document_block(block).nbytes()
            unit_of = packing.first_bytes(nbytes) // unit_bytes
            return np.argsort(permute(unit_of, int(nbytes.sum()) // unit_bytes + 1, seed, epoch), kind="stable")

        sequences: Ints = self._orders.get((epoch, block), order)
        return sequences[indices]

    def _permutation(self, indices: Ints, n_groups: int, seed: int, epoch: int) -> Ints:
        """`permute` of consecutive indices. Whole chunks are computed and kept for later steps: numpy calls on a few
        numbers cost several times the arithmetic."""

        def images(number: int) -> Ints:
            chunk = np.arange(number * _CHUNK, min((number + 1) * _CHUNK, n_groups), dtype=np.int64)
            found: Ints = self._orders.get((seed, epoch, number), lambda: permute(chunk, n_groups, seed, epoch))
            return found

        first, last = (int(index) // _CHUNK for index in indices[[0, -1]])
        chunks = [images(number) for number in range(first, last + 1)]
        order: Ints = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
        return order[indices - first * _CHUNK]

    def batch(self, sequence_keys: Ints) -> Batch:
        """The batch of these sequences [B, 3], prefetched or not: the result is the same."""
        with self._timed():
            ready = self._ready.pop(sequence_keys.tobytes(), None)
            # A batch that the thread has not begun is assembled here instead of waiting for it.
            if ready is None or ready.cancel():
                return self._assemble(sequence_keys)
            return ready.result()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds_waited += time.perf_counter() - start

    def prefetch(self, sequence_keys: Ints) -> None:
        """Assembles a batch in the background, and reads the block of documents that follows its last one."""
        key = sequence_keys.tobytes()
        if len(sequence_keys) and key not in self._ready:
            # Prefetched but never taken (a smaller micro-batch, the end of a run): dropped, so that memory stays flat.
            while len(self._ready) >= _CACHE_SIZE:
                self._ready.pop(next(iter(self._ready))).cancel()
            self._ready[key] = self._pool.submit(self._assemble, sequence_keys.copy())
            following = int(sequence_keys[-1, 1]) + 1
            if self.source.n_blocks != 1 and following != self._following:
                self._following = following
                self._pool.submit(self._read_block, following)

    def _read_block(self, index: int) -> None:
        try:
            self.document_block(index)
        except NoSuchBlockError:
            self.document_block(0)

    def _assemble(self, sequence_keys: Ints) -> Batch:
        new_block = np.flatnonzero((sequence_keys[1:, :2] != sequence_keys[:-1, :2]).any(1)) + 1
        starts, parts = [0, *new_block.tolist(), len(sequence_keys)], []
        for start, stop in pairwise(starts if len(sequence_keys) else []):
            epoch, block, _ = sequence_keys[start].tolist()
            parts.append(Part(self.document_block(block), self.packing(epoch, block), sequence_keys[start:stop, 2]))
        return assemble(parts, sequence_keys, self.vocab, positions=self.positions, pin=self.pin)

    def close(self) -> None:
        """Ends the thread; nothing can be prefetched afterwards."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _block_seed(seed: int, block: int) -> int:
    """Each block has a key of its own; block 0 uses the seed itself, as token shards do."""
    return seed if block == 0 else rng.key(seed, block)
