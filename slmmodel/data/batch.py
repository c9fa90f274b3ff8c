"""`Batch`: the tensors of some sequences, and how they are assembled from spans.

A span of a document gets consecutive positions: inputs are its ids, targets the same ids shifted by one. All other
positions are padding. Position numbers are `reset` (0 at the start of each span), `true` (offset within the document)
or `row` (offset within the sequence). Tensors stay on the CPU; the training step moves them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slmmodel.data.source import Documents
from slmmodel.data.spans import Ints, Plan, check_choice
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    import torch
    from torch import Tensor

TENSORS = ("ids", "targets", "target_mask", "document_ids", "position_ids")


@dataclass
class Batch:
    """`B` sequences of `T` positions; each holds one pair (input id, target id) or padding."""

    ids: Tensor
    """int64 [B, T]: input ids; the padding id at empty positions."""
    targets: Tensor
    """int64 [B, T]: the id that follows; the padding id where nothing is scored."""
    target_mask: Tensor
    """bool [B, T]: True where the target is scored."""
    document_ids: Tensor
    """int32 [B, T]: number of the span within its sequence, 0, 1, 2, ...; -1 at padding."""
    position_ids: Tensor
    """int64 [B, T]."""
    n_targets: int
    """Scored targets, counted on the CPU; reading it does not synchronise."""
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
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=True) for name in TENSORS})

    def __getitem__(self, part: slice) -> Batch:
        """Some of the sequences, for the loss alone: `n_bytes` stays that of the whole batch."""
        tensors = {name: getattr(self, name)[part] for name in TENSORS}
        mask = tensors["target_mask"]
        all_scored = self.n_targets == self.target_mask.numel()
        n_targets = mask.numel() if all_scored else int(mask.sum())
        return replace(self, **tensors, n_targets=n_targets, sequences=self.sequences[part])


def assemble(
    sequences: Iterable[tuple[Documents, Plan, int]],
    keys: Ints,
    vocab: VocabMeta,
    *,
    positions: str | None = None,
    pin: bool = False,
) -> Batch:
    """The batch of these sequences, each given by its block, plan and index; as long as the longest.

    `keys` [B, 3] (epoch, block, index) become `Batch.sequences`. `positions` None takes the plan's own numbering.
    """
    import torch

    sequences = list(sequences)
    shape = len(sequences), max((plan.length(index) for _, plan, index in sequences), default=0)
    ids, targets = (np.full(shape, vocab.pad_id, dtype=np.int64) for _ in range(2))
    mask, document_ids = np.zeros(shape, dtype=np.bool_), np.full(shape, -1, dtype=np.int32)
    numbers, single_doc = np.zeros(shape, dtype=np.int64), True
    for row, (block, plan, index) in enumerate(sequences):
        spans, numbering = plan.spans(index), positions or plan.positions
        if numbering == "row":
            numbers[row] = np.arange(shape[1])
        for number, (doc, lo, hi, at) in enumerate(spans):
            text = block.ids(doc, lo, hi + 1)
            stop, stop_scored = at + hi - lo, at + len(text) - 1
            ids[row, at:stop] = text[: hi - lo]
            targets[row, at:stop_scored] = text[1:]
            mask[row, at:stop_scored] = True
            document_ids[row, at:stop] = 0 if plan.single_doc else number
            if numbering != "row":
                first = lo if numbering == "true" else 0
                numbers[row, at:stop] = np.arange(first, first + hi - lo)
        if plan.loss_on == "last":
            mask[row, : np.flatnonzero(mask[row])[-1:].sum()] = False
        # Padding behind the document is harmless: in a causal model later positions influence nothing.
        is_single = len(spans) == 1 or (plan.single_doc and len(spans) > 0)
        single_doc = single_doc and is_single and spans[0].at == 0
    n_bytes = int(vocab.token_nbytes[targets[mask]].sum(dtype=np.int64))
    targets[~mask] = vocab.pad_id
    arrays = dict(zip(TENSORS, (ids, targets, mask, document_ids, numbers), strict=True))
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if pin and torch.cuda.is_available():
        tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
    n_targets = int(np.count_nonzero(mask))
    return Batch(**tensors, n_targets=n_targets, n_bytes=n_bytes, sequences=keys, single_doc=single_doc)


def make_batch(block: Documents, plan: Plan, vocab: VocabMeta, indices: Ints, *, positions: str | None = None) -> Batch:
    """The batch of sequences `indices` [B] of one plan: for validation, inspection and tests."""
    check_choice("positions", positions or plan.positions)
    keys = np.stack([np.zeros_like(indices), np.zeros_like(indices), indices], axis=1)
    return assemble([(block, plan, index) for index in indices.tolist()], keys, vocab, positions=positions)
