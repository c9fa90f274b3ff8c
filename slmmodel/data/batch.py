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
TENSORS = ("ids", "targets", "target_mask", "doc_id", "positions")


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


class Sequence(NamedTuple):
    """Sequence `number` of a plan over a block."""

    block: TokenBlock
    plan: Plan
    number: int


def assemble(
    sequences: list[Sequence], keys: Ints, vocab: VocabMeta, *, positions: str | None = None, pin: bool = False
) -> Batch:
    """The batch of these sequences, as long as the longest.

    `keys` [B, 3] (epoch, block, index) become `Batch.sequences`. `positions` None takes the plan's own numbering.
    """
    import torch

    shape = len(sequences), max((sequence.plan.length(sequence.number) for sequence in sequences), default=0)
    arrays: dict[str, NDArray[Any]] = {
        "ids": np.full(shape, vocab.pad_id, dtype=np.int64),
        "targets": np.full(shape, vocab.pad_id, dtype=np.int64),
        "target_mask": np.zeros(shape, dtype=np.bool_),
        "doc_id": np.full(shape, -1, dtype=np.int32),
        "positions": np.zeros(shape, dtype=np.int64),
    }
    single_doc = True
    for row, sequence in enumerate(sequences):
        spans = sequence.plan.spans(sequence.number)
        _fill({name: array[row] for name, array in arrays.items()}, sequence, spans, positions)
        one_text = len(spans) == 1 or (sequence.plan.joined and len(spans) > 0)
        # Padding behind the document is harmless: in a causal model later positions influence nothing.
        single_doc = single_doc and one_text and spans[0].at == 0
    mask, targets = arrays["target_mask"], arrays["targets"]
    n_bytes = int(vocab.token_nbytes[targets[mask]].sum(dtype=np.int64))
    targets[~mask] = vocab.pad_id
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if pin and torch.cuda.is_available():
        tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
    n_targets = int(np.count_nonzero(mask))
    return Batch(**tensors, n_targets=n_targets, n_bytes=n_bytes, sequences=keys, single_doc=single_doc)


def _fill(row: dict[str, NDArray[Any]], sequence: Sequence, spans: list[Span], positions: str | None) -> None:
    """Writes the spans of one sequence into its row of each array [T]."""
    plan = sequence.plan
    numbering = positions or plan.positions
    if numbering == "row":
        row["positions"][:] = np.arange(len(row["positions"]))
    for number, (doc, lo, hi, at) in enumerate(spans):
        ids = sequence.block.ids(doc, lo, hi + 1)
        size, scored = hi - lo, len(ids) - 1
        row["ids"][at : at + size] = ids[:size]
        row["targets"][at : at + scored] = ids[1:]
        row["target_mask"][at : at + scored] = True
        row["doc_id"][at : at + size] = 0 if plan.joined else number
        if numbering != "row":
            start = lo if numbering == "true" else 0
            row["positions"][at : at + size] = np.arange(start, start + size)
    if plan.loss_on == "last":
        mask = row["target_mask"]
        mask[: np.flatnonzero(mask)[-1:].sum()] = False


class Assembler:
    """Batches of one plan over one block: for validation, inspection and tests. Training uses `Loader`."""

    def __init__(self, block: TokenBlock, plan: Plan, vocab: VocabMeta, *, positions: str | None = None) -> None:
        check_choice("positions", positions or POSITIONS[0], POSITIONS)
        self.block, self.plan, self.vocab, self._positions = block, plan, vocab, positions

    def batch(self, indices: Ints) -> Batch:
        """The batch of these sequences [B]."""
        indices = np.asarray(indices, dtype=np.int64)
        keys = np.stack([np.zeros_like(indices), np.zeros_like(indices), indices], axis=1)
        sequences = [Sequence(self.block, self.plan, int(index)) for index in indices]
        return assemble(sequences, keys, self.vocab, positions=self._positions)
