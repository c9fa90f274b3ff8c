"""`Batch`: the tensors of some sequences, and how they are assembled from spans.

Position `at + j` of a span gets the input `l_{lo+j}` and the target `l_{lo+j+1}`; all other positions are padding.
Position numbers are `reset` (0 at the start of each span), `true` (offset within the document) or `row` (offset within
the sequence). Tensors stay on the CPU; the training step moves them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.source import TokenBlock
from slmmodel.data.spans import Ints, Plan, Span, check_choice
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    import torch
    from torch import Tensor

POSITIONS = ("reset", "true", "row")


@dataclass
class Batch:
    """`B` sequences of `T` positions; each holds one pair (input id, target id) or padding."""

    ids: Tensor
    """int64 [B, T]: input ids; the padding id at empty positions."""
    targets: Tensor
    """int64 [B, T]: the id that follows; the padding id where nothing is scored."""
    target_mask: Tensor
    """bool [B, T]: True where the target is scored."""
    doc_id: Tensor
    """int32 [B, T]: number of the span within its sequence, 0, 1, 2, ...; -1 at padding."""
    positions: Tensor
    """int64 [B, T]."""
    n_targets: int
    """Scored targets, known without asking a device."""
    n_bytes: int
    """Raw bytes of the scored targets."""
    sequences: Ints
    """[B, 3]: epoch, block and index of each sequence, so that any batch can be rebuilt and named in an error."""
    single_doc: bool
    """No document boundary inside a sequence and padding only at its end: plain causal attention is enough."""

    def to(self, device: torch.device) -> Batch:
        """The batch with its tensors on `device`; `self` where that is the CPU."""
        if device.type == "cpu":
            return self

        def move(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        return replace(
            self,
            ids=move(self.ids),
            targets=move(self.targets),
            target_mask=move(self.target_mask),
            doc_id=move(self.doc_id),
            positions=move(self.positions),
        )

    def __getitem__(self, part: slice) -> Batch:
        """Some of the sequences, for the loss alone: `n_bytes` stays that of the whole batch."""
        mask = self.target_mask[part]
        all_scored = self.n_targets == self.target_mask.numel()
        return replace(
            self,
            ids=self.ids[part],
            targets=self.targets[part],
            target_mask=mask,
            doc_id=self.doc_id[part],
            positions=self.positions[part],
            n_targets=mask.numel() if all_scored else int(mask.sum()),
            sequences=self.sequences[part],
        )


class Sequence(NamedTuple):
    """Sequence `number` of a plan over a block."""

    block: TokenBlock
    plan: Plan
    number: int


class _Arrays:
    """The arrays of a batch while they are filled."""

    def __init__(self, n_sequences: int, length: int, pad: int) -> None:
        self.ids = np.full((n_sequences, length), pad, dtype=np.int64)
        self.targets = np.full((n_sequences, length), pad, dtype=np.int64)
        self.mask = np.zeros((n_sequences, length), dtype=np.bool_)
        self.doc_id = np.full((n_sequences, length), -1, dtype=np.int32)
        self.positions = np.zeros((n_sequences, length), dtype=np.int64)

    def fill(self, row: int, sequence: Sequence, spans: list[Span], numbering: str) -> None:
        """Writes the spans of one sequence."""
        plan = sequence.plan
        for number, (doc, lo, hi, at) in enumerate(spans):
            ids = sequence.block.ids(doc, lo, hi + 1)
            size, scored = hi - lo, len(ids) - 1
            self.ids[row, at : at + size] = ids[:size]
            self.targets[row, at : at + scored] = ids[1:]
            self.mask[row, at : at + scored] = True
            self.doc_id[row, at : at + size] = 0 if plan.joined else number
            if numbering != "row":
                start = lo if numbering == "true" else 0
                self.positions[row, at : at + size] = np.arange(start, start + size)
        if plan.loss_on == "last":
            self.mask[row, : np.flatnonzero(self.mask[row])[-1:].sum()] = False

    def batch(self, sequences: Ints, vocab: VocabMeta, *, single_doc: bool, pin: bool) -> Batch:
        """The tensors of the filled arrays."""
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
            sequences=sequences,
            single_doc=single_doc,
        )


def assemble(
    sequences: list[Sequence], names: Ints, vocab: VocabMeta, *, positions: str | None = None, pin: bool = False
) -> Batch:
    """The batch of these sequences, as long as the longest.

    `names` [B, 3] become `Batch.sequences`. `positions` None takes the plan's own numbering.
    """
    length = max((sequence.plan.length(sequence.number) for sequence in sequences), default=0)
    arrays = _Arrays(len(sequences), length, vocab.pad_id)
    single_doc = True
    for row, sequence in enumerate(sequences):
        spans = sequence.plan.spans(sequence.number)
        numbering = positions or sequence.plan.positions
        arrays.fill(row, sequence, spans, numbering)
        if numbering == "row":
            arrays.positions[row] = np.arange(length)
        one_text = len(spans) == 1 or (sequence.plan.joined and len(spans) > 0)
        # Padding behind the document is harmless: in a causal model later positions influence nothing.
        single_doc = single_doc and one_text and spans[0].at == 0
    return arrays.batch(names, vocab, single_doc=single_doc, pin=pin)


class Assembler:
    """Batches of one plan over one block: for validation, inspection and tests. Training uses `Loader`."""

    def __init__(self, block: TokenBlock, plan: Plan, vocab: VocabMeta, *, positions: str | None = None) -> None:
        check_choice("positions", positions or POSITIONS[0], POSITIONS)
        self.block, self.plan, self.vocab, self._positions = block, plan, vocab, positions

    def batch(self, indices: Ints) -> Batch:
        """The batch of these sequences [B]."""
        indices = np.asarray(indices, dtype=np.int64)
        names = np.stack([np.zeros_like(indices), np.zeros_like(indices), indices], axis=1)
        sequences = [Sequence(self.block, self.plan, int(index)) for index in indices]
        return assemble(sequences, names, self.vocab, positions=self._positions)
