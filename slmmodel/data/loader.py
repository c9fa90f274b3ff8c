"""`Loader`: which rows each step takes, and their batches, for training.

All state is a `Cursor` of three integers, which the caller keeps: epoch, block, and units of that block already taken.
Which rows follow from a cursor depends on the data, the plan and the seed alone, not on ranks, micro-batches, threads
or interruptions. A step may straddle blocks and epochs. One thread prepares what `prefetch` announces, and the next
block of a source that has several; it is a hint and changes no result.
"""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.assemble import Row, assemble, check_positions
from slmmodel.data.batch import Batch
from slmmodel.data.order import mix, perm
from slmmodel.data.packs import PACKS
from slmmodel.data.plan import check_cuts, make_plan, moves_cuts
from slmmodel.data.source import TokenBlock, TokenSource
from slmmodel.data.spans import Plan
from slmmodel.data.windows import WINDOWS
from slmmodel.errors import InvalidPlan
from slmmodel.vocab import VocabMeta

_KEPT = 3
"""Blocks and plans that are kept: the present one, the next, and one for who looks back."""
_MOST_ORDERED = 1 << 20
"""Units whose whole order is kept; beyond, the permutation is computed step by step, to the same numbers."""
_T = TypeVar("_T")


class Cursor(NamedTuple):
    """Where the next step begins."""

    epoch: int = 0
    block: int = 0
    units: int = 0


class Step(NamedTuple):
    """The global batch of one step: the same on every rank."""

    rows: NDArray[np.int64]
    """[R, 3]: epoch, block and row."""
    n_targets: int
    next: Cursor


class _Kept:
    """The last few values by key. Each is made once, by the first who asks; who asks meanwhile waits for that value
    alone. A failure is not kept."""

    def __init__(self) -> None:
        self._values: OrderedDict[Any, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], _T]) -> _T:
        with self._lock:
            found = self._values.get(key)
            mine = found is None
            value: Future[Any] = Future() if found is None else found
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > _KEPT:
                self._values.popitem(last=False)
        if mine:
            try:
                value.set_result(make())
            except BaseException as error:
                with self._lock:
                    self._values.pop(key, None)
                value.set_exception(error)
        result: _T = value.result()
        return result


class Loader:
    """Steps and batches of a source under one plan. `rows_per_step` rows of `context` slots make the global batch."""

    def __init__(
        self,
        source: TokenSource,
        vocab: VocabMeta,
        *,
        context: int,
        rows_per_step: int,
        pack: str = "concat",
        seed: int = 0,
        shuffle: bool = True,
        cuts: str = "moved",
        positions: str | None = None,
        pin: bool = False,
        **options: Any,
    ) -> None:
        check_positions(positions)
        check_cuts(cuts)
        if rows_per_step < 1:
            raise InvalidPlan("a step needs at least one row", fix="give more tokens a step, or shorter rows")
        self.source, self.vocab, self.context, self.rows_per_step = source, vocab, context, rows_per_step
        self.pack, self.seed, self.shuffle, self.positions, self.pin = pack, seed, shuffle, positions, pin
        make = {**PACKS, **WINDOWS}.get(pack)
        if make is not None and "batch_rows" in inspect.signature(make).parameters:
            options = {"batch_rows": rows_per_step, **options}
        self.options = options
        self.cuts = cuts if moves_cuts(pack) else "fixed"
        self._blocks, self._plans, self._orders = _Kept(), _Kept(), _Kept()
        self._pool: ThreadPoolExecutor | None = None
        self._ready: dict[bytes, Future[Batch]] = {}
        self.plan(0, 0)

    def block(self, index: int) -> TokenBlock:
        """A block of the source. Raises `IndexError` past the last one."""
        if self.source.n_blocks is not None and index >= self.source.n_blocks:
            raise IndexError(index)
        return self._blocks.get(index, lambda: self.source.block(index))

    def plan(self, epoch: int, block: int) -> Plan:
        """The rows of a block in an epoch."""

        def make() -> Plan:
            lengths = self.block(block).lengths()
            seed = _block_seed(self.seed, block)
            how = {"shuffle": self.shuffle, "cuts": self.cuts, **self.options}
            return make_plan(self.pack, lengths, self.context, seed=seed, epoch=epoch, **how)

        alike = not self.shuffle and self.cuts == "fixed"
        return self._plans.get((0 if alike else epoch, block), make)

    @property
    def digest(self) -> str:
        """Covers the data and all that decides which rows a step takes."""
        parts = [self.source.digest, self.vocab.fingerprint, self.pack, self.context, self.rows_per_step, self.seed]
        parts += [self.shuffle, self.cuts, self.positions, sorted(self.options.items())]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def step(self, cursor: Cursor) -> Step:
        """The rows of the step that begins at `cursor`, and where the next one begins. Pure."""
        epoch, block, taken = cursor
        parts: list[NDArray[np.int64]] = []
        missing, n_targets, empty = self.rows_per_step, 0, 0
        while missing > 0:
            try:
                plan = self.plan(epoch, block)
            except IndexError:
                epoch, block, taken = epoch + 1, 0, 0
                continue
            rows = self._take(plan, epoch, block, taken, missing)
            if rows.size:
                n_targets += plan.n_targets(rows)
                named = np.empty((len(rows), 3), dtype=np.int64)
                named[:, 0], named[:, 1], named[:, 2] = epoch, block, rows
                parts.append(named)
                taken += 1 if plan.grouped else len(rows)
                missing = 0 if plan.grouped else missing - len(rows)
                empty = 0
            else:
                empty = self._count_empty(plan, block, empty)
            if taken >= plan.n_units:
                block, taken = block + 1, 0
        return Step(np.concatenate(parts), n_targets, Cursor(epoch, block, taken))

    def _take(self, plan: Plan, epoch: int, block: int, taken: int, missing: int) -> NDArray[np.int64]:
        size = 1 if plan.grouped else missing
        units = np.arange(taken, min(taken + size, plan.n_units), dtype=np.int64)
        if plan.ordering == "shuffled":
            units = self._permuted(units, plan.n_units, epoch, block)
        return plan.unit(int(units[0])) if plan.grouped and units.size else units

    def _permuted(self, units: NDArray[np.int64], n: int, epoch: int, block: int) -> NDArray[np.int64]:
        seed = _block_seed(self.seed, block)
        if n > _MOST_ORDERED:
            return perm(units, n, seed, epoch)
        order = self._orders.get((epoch, block), lambda: perm(np.arange(n, dtype=np.int64), n, seed, epoch))
        return order[units]

    def _count_empty(self, plan: Plan, block: int, empty: int) -> int:
        """Blocks without a row in a run; a whole epoch of them would never end."""
        if len(plan) == 0:
            empty += 1
        if empty > 1 + (self.source.n_blocks or block + 1):
            raise InvalidPlan("the data has not a single pair to train on", fix="pack a corpus with text in it")
        return empty

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """The batch of these rows [B, 3]: prepared already where it was announced, the same in any case."""
        ready = self._ready.pop(rows.tobytes(), None)
        # What the thread has not begun is done here, rather than waited for.
        if ready is None or ready.cancel():
            return self._assemble(rows)
        return ready.result()

    def prefetch(self, rows: NDArray[np.int64]) -> None:
        """Prepares a batch that will be asked for, in the one thread."""
        key = rows.tobytes()
        if len(rows) and key not in self._ready:
            # Announced and never fetched (a smaller micro-batch, an end): dropped, so that memory stays flat.
            while len(self._ready) >= _KEPT:
                self._ready.pop(next(iter(self._ready))).cancel()
            self._ready[key] = self._threads().submit(self._assemble, rows.copy())
            self._prefetch_block(int(rows[-1, 1]))

    def _prefetch_block(self, block: int) -> None:
        if self.source.n_blocks != 1:
            self._threads().submit(self._next_block, block + 1)

    def _next_block(self, index: int) -> None:
        try:
            self.block(index)
        except IndexError:
            self.block(0)

    def _assemble(self, rows: NDArray[np.int64]) -> Batch:
        parts = [Row(self.block(block), self.plan(epoch, block), row) for epoch, block, row in rows.tolist()]
        return assemble(parts, rows, self.vocab, positions=self.positions, pin=self.pin)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="slm-prefetch")
        return self._pool

    def close(self) -> None:
        """Ends the thread. The loader may be used again."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        self._ready.clear()


def _block_seed(seed: int, block: int) -> int:
    """Blocks have keys of their own; the first has the seed itself, as packed data does."""
    return seed if block == 0 else mix(mix(seed & (1 << 64) - 1) ^ block)
