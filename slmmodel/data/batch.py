"""`Batch`: the tensors of some sequences, and how they are assembled from spans.

A span of a document fills consecutive columns: inputs are its ids, targets the same ids shifted by one. All other
columns are padding. `data.positions` numbers `position_ids`: `reset` (0 at the start of each span), `true` (index in
the document) or `row` (index in the sequence). Tensors stay on the CPU; the training step moves them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slmmodel.data.packing import Ints, Packing, check_choice
from slmmodel.data.source import DocumentBlock
from slmmodel.errors import CorruptFile
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    import torch
    from torch import Tensor

TENSORS = ("ids", "targets", "target_mask", "document_ids", "position_ids")


@dataclass
class Batch:
    """`B` sequences of `T` columns; each column holds an input id with its target, or padding."""

    ids: Tensor
    """int64 [B, T]: input ids; the padding id at empty columns."""
    targets: Tensor
    """int64 [B, T]: the id that follows; the padding id where nothing is scored."""
    target_mask: Tensor
    """bool [B, T]: True where the target is scored."""
    document_ids: Tensor
    """int32 [B, T]: number of the document (its span) within the sequence, 0, 1, 2, ...; -1 at padding."""
    position_ids: Tensor
    """int64 [B, T]: what the positional encoding of the model sees; 0 at padding."""
    row_targets: Ints
    """[B]: scored targets of each sequence."""
    row_bytes: Ints
    """[B]: raw bytes of the scored targets of each sequence."""
    sequence_keys: Ints
    """[B, 3]: epoch, block and index of each sequence, so that any batch can be rebuilt and named in an error."""
    single_document: bool
    """Each sequence is one document with padding only at its end: plain causal attention is enough."""

    @property
    def n_targets(self) -> int:
        """Scored targets, counted on the CPU: reading it does not synchronise."""
        return int(self.row_targets.sum())

    @property
    def n_bytes(self) -> int:
        """Raw bytes of the scored targets."""
        return int(self.row_bytes.sum())

    def to(self, device: torch.device) -> Batch:
        """The batch with its tensors on `device`; `self` where that is the CPU."""
        if device.type == "cpu":
            return self
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=True) for name in TENSORS})

    def __getitem__(self, rows: slice) -> Batch:
        """Some of the sequences."""
        arrays = ("row_targets", "row_bytes", "sequence_keys")
        return replace(self, **{name: getattr(self, name)[rows] for name in (*TENSORS, *arrays)})


def assemble(
    sequences: Iterable[tuple[DocumentBlock, Packing, int]],
    keys: Ints,
    vocab: VocabMeta,
    *,
    positions: str | None = None,
    pin: bool = False,
) -> Batch:
    """The batch of these sequences, each given by its block, packing and index; as long as the longest.

    `keys` [B, 3] (epoch, block, index) become `Batch.sequence_keys`. `positions` None takes the packing's default.
    """
    import torch

    sequences = list(sequences)
    shape = len(sequences), max((packing.length(index) for _, packing, index in sequences), default=0)
    ids, targets = (np.full(shape, vocab.pad_id, dtype=np.int64) for _ in range(2))
    mask, document_ids = np.zeros(shape, dtype=np.bool_), np.full(shape, -1, dtype=np.int32)
    position_ids, single_document = np.zeros(shape, dtype=np.int64), True
    for row, (block, packing, index) in enumerate(sequences):
        spans, numbering = packing.spans(index), positions or packing.positions
        if numbering == "row":
            position_ids[row] = np.arange(shape[1])
        for number, (doc, start, stop, column) in enumerate(spans):
            span_ids, n_inputs = block.ids(doc, start, stop + 1), stop - start
            inputs = slice(column, column + n_inputs)
            # The last input has no target where the document ends with it (`stream` with `joined`).
            scored = slice(column, column + len(span_ids) - 1)
            if len(span_ids) < n_inputs:
                raise CorruptFile("the data were changed while they were read", fix="restore them, or pack them again")
            ids[row, inputs] = span_ids[:n_inputs]
            targets[row, scored] = span_ids[1:]
            mask[row, scored] = True
            document_ids[row, inputs] = 0 if packing.single_document else number
            if numbering != "row":
                first = start if numbering == "true" else 0
                position_ids[row, inputs] = np.arange(first, first + n_inputs)
        if packing.loss_on == "last":
            mask[row, : np.flatnonzero(mask[row])[-1:].sum()] = False
        # Padding behind the document is harmless: in a causal model later columns influence nothing.
        is_single = len(spans) == 1 or (packing.single_document and len(spans) > 0)
        single_document = single_document and is_single and spans[0].column == 0
    row_targets = mask.sum(1, dtype=np.int64)
    row_bytes = np.where(mask, vocab.token_nbytes[targets], 0).sum(1, dtype=np.int64)
    targets[~mask] = vocab.pad_id
    arrays = dict(zip(TENSORS, (ids, targets, mask, document_ids, position_ids), strict=True))
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if pin and torch.cuda.is_available():
        tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
    return Batch(
        **tensors, row_targets=row_targets, row_bytes=row_bytes, sequence_keys=keys, single_document=single_document
    )


def make_batch(
    block: DocumentBlock, packing: Packing, vocab: VocabMeta, indices: Ints, *, positions: str | None = None
) -> Batch:
    """The batch of sequences `indices` [B] of one packing: for validation, inspection and tests."""
    check_choice("positions", positions or packing.positions)
    keys = np.stack([np.zeros_like(indices), np.zeros_like(indices), indices], axis=1)
    return assemble([(block, packing, index) for index in indices.tolist()], keys, vocab, positions=positions)
