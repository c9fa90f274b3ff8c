"""From spans to a `Batch`: one assembler for every plan.

Slot `at + j` of a span gets the input `l_{lo+j}` and the target `l_{lo+j+1}`; all other slots are padding. Positions
are `reset` (0 at the start of each span), `true` (offset within the document) or `row` (number of the slot).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.batch import Batch
from slmmodel.data.source import TokenBlock
from slmmodel.data.spans import Plan, Span
from slmmodel.errors import InvalidPlan
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    from torch import Tensor

POSITIONS = ("reset", "true", "row")


class Row(NamedTuple):
    """A row of a plan over a block, and the slots that its batch may need."""

    block: TokenBlock
    plan: Plan
    number: int


class _Arrays:
    """The arrays of a batch while they are filled."""

    def __init__(self, n_rows: int, width: int, pad: int) -> None:
        self.ids = np.full((n_rows, width), pad, dtype=np.int64)
        self.targets = np.full((n_rows, width), pad, dtype=np.int64)
        self.mask = np.zeros((n_rows, width), dtype=np.bool_)
        self.doc_id = np.full((n_rows, width), -1, dtype=np.int32)
        self.positions = np.zeros((n_rows, width), dtype=np.int64)

    def fill(self, index: int, row: Row, spans: list[Span], positions: str) -> None:
        """Writes the spans of one row."""
        plan = row.plan
        for number, (doc, lo, hi, at) in enumerate(spans):
            ids = row.block.ids(doc, lo, hi + 1)
            size, scored = hi - lo, len(ids) - 1
            self.ids[index, at : at + size] = ids[:size]
            self.targets[index, at : at + scored] = ids[1:]
            self.mask[index, at : at + scored] = True
            self.doc_id[index, at : at + size] = 0 if plan.joined else number
            if positions != "row":
                start = lo if positions == "true" else 0
                self.positions[index, at : at + size] = np.arange(start, start + size)
        if plan.loss_on == "last":
            self.mask[index, : np.flatnonzero(self.mask[index])[-1:].sum()] = False

    def batch(self, rows: NDArray[np.int64], vocab: VocabMeta, *, single_doc: bool, pin: bool) -> Batch:
        """The tensors of what was filled."""
        import torch

        n_bytes = int(vocab.token_nbytes[self.targets[self.mask]].sum(dtype=np.int64))
        self.targets[~self.mask] = vocab.pad_id
        pinned = pin and torch.cuda.is_available()

        def tensor(array: NDArray[Any]) -> Tensor:
            plain = torch.from_numpy(array)
            return plain.pin_memory() if pinned else plain

        return Batch(
            ids=tensor(self.ids),
            targets=tensor(self.targets),
            target_mask=tensor(self.mask),
            doc_id=tensor(self.doc_id),
            positions=tensor(self.positions),
            n_targets=int(np.count_nonzero(self.mask)),
            n_bytes=n_bytes,
            rows=rows,
            single_doc=single_doc,
        )


def assemble(
    rows: list[Row], numbers: NDArray[np.int64], vocab: VocabMeta, *, positions: str | None = None, pin: bool = False
) -> Batch:
    """The batch of these rows, as wide as the widest; `numbers` [B, 3] name them. Positions None: the plan's own."""
    width = max((row.plan.width(row.number) for row in rows), default=0)
    arrays = _Arrays(len(rows), width, vocab.pad_id)
    single = True
    for index, row in enumerate(rows):
        spans = row.plan.spans(row.number)
        counting = positions or row.plan.positions
        arrays.fill(index, row, spans, counting)
        if counting == "row":
            arrays.positions[index] = np.arange(width)
        whole = len(spans) == 1 or (row.plan.joined and len(spans) > 0)
        # Behind the document there may be padding: what comes later influences nothing in a causal model.
        single = single and whole and spans[0].at == 0
    return arrays.batch(numbers, vocab, single_doc=single, pin=pin)


class Assembler:
    """Batches of rows of one plan over one block, for scoring, looking and tests; training goes through `Loader`."""

    def __init__(
        self,
        block: TokenBlock,
        plan: Plan,
        vocab: VocabMeta,
        *,
        positions: str | None = None,
        epoch: int = 0,
        number: int = 0,
        pin: bool = False,
    ) -> None:
        check_positions(positions)
        self.block, self.plan, self.vocab = block, plan, vocab
        self._positions, self._epoch, self._number, self._pin = positions, epoch, number, pin

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """The batch of these rows [B]; pinned only where asked for and CUDA is present."""
        rows = np.asarray(rows, dtype=np.int64)
        numbers = np.stack([np.full_like(rows, self._epoch), np.full_like(rows, self._number), rows], axis=1)
        parts = [Row(self.block, self.plan, int(row)) for row in rows]
        return assemble(parts, numbers, self.vocab, positions=self._positions, pin=self._pin)


def check_positions(positions: str | None) -> None:
    """Raises `InvalidPlan` for a way to count positions that does not exist."""
    if positions is not None and positions not in POSITIONS:
        raise InvalidPlan(
            f"positions cannot be {positions!r}",
            limit=f"ways to count: {', '.join(POSITIONS)}",
            fix="take one of these",
        )
