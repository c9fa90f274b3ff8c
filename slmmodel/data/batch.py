"""`Batch`: the tensors of some sequences, and how they are assembled from spans.

A span of a document fills consecutive columns: inputs are its ids, targets the same ids shifted by one. All other
columns are padding. `data.positions` numbers `position_ids`: `reset` (0 at the start of each span), `true` (index in
the document) or `row` (index in the sequence). Tensors stay on the CPU; the training step moves them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.packing import Ints, Packing, Spans, check_choice
from slmmodel.data.source import DocumentBlock
from slmmodel.errors import CorruptFile
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    import torch
    from torch import Tensor

TENSORS = ("ids", "targets", "target_mask", "document_ids", "position_ids")
IGNORE_INDEX = -100
"""The label of a target that is not scored, which torch's cross entropy leaves out."""


@dataclass
class Batch:
    """`B` sequences of `T` columns; each column holds an input id with its target, or padding."""

    ids: Tensor
    """int64 [B, T]: input ids; the padding id at empty columns."""
    targets: Tensor
    """int64 [B, T]: the id that follows; the padding id where nothing is scored."""
    target_mask: Tensor
    """bool [B, T]: True where the target is scored, which means that it counts in the loss."""
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


class Part(NamedTuple):
    """Sequences of one block of documents: consecutive rows of a batch."""

    block: DocumentBlock
    packing: Packing
    indices: Ints
    """Their indices in the packing [n]."""


def assemble(
    parts: Sequence[Part], keys: Ints, vocab: VocabMeta, *, positions: str | None = None, pin: bool = False
) -> Batch:
    """The batch of these sequences; as long as the longest.

    `keys` [B, 3] (epoch, block, index) become `Batch.sequence_keys`. `positions` None takes the packing's default.
    """
    import torch

    shape = len(keys), max((int(part.packing.lengths(part.indices).max(initial=0)) for part in parts), default=0)
    pad_id = vocab.pad_id
    dtypes = dict(zip(TENSORS, (np.int64, np.int64, np.bool_, np.int32, np.int64), strict=True))
    arrays: dict[str, NDArray[Any]] = {name: np.empty(shape, dtype) for name, dtype in dtypes.items()}
    row, single_document = 0, True
    for part in parts:
        rows = slice(row, row := row + len(part.indices))
        is_single = _fill({name: array[rows] for name, array in arrays.items()}, part, positions, pad_id)
        single_document = single_document and is_single
    targets, mask = arrays["targets"], arrays["target_mask"]
    if mask.all():
        row_targets = np.full(shape[0], shape[1], dtype=np.int64)
    else:
        targets[~mask] = pad_id
        row_targets = mask.sum(1, dtype=np.int64)
    # Every target that is not scored is the padding id.
    pad_nbytes = (shape[1] - row_targets) * int(vocab.token_nbytes[pad_id])
    row_bytes = vocab.token_nbytes.astype(np.int64).take(targets).sum(1) - pad_nbytes
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if pin and torch.cuda.is_available():
        tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
    return Batch(
        **tensors, row_targets=row_targets, row_bytes=row_bytes, sequence_keys=keys, single_document=single_document
    )


def _fill(arrays: Mapping[str, NDArray[Any]], part: Part, positions: str | None, pad_id: int) -> bool:
    """Writes the sequences of a part to arrays [n, T] (targets: where they are scored); returns whether each is one
    document from column 0 on.

    Only ids are copied span by span, all else is computed for whole rows: a numpy call costs several times the copy
    of a span.
    """
    block, packing, indices = part
    spans, (n_rows, seq_len) = packing.spans_of(indices), arrays["ids"].shape
    ids, targets, mask, document_ids, position_ids = (arrays[name].reshape(-1) for name in TENSORS)
    starts = spans.row * seq_len + spans.column
    has_target = _copy_ids(ids, targets, block, spans, starts, pad_id)

    # The columns of all rows, end to end: padding (maybe none), span, padding, ..., span, padding.
    stops = starts + spans.stop - spans.start
    borders = np.concatenate([[0], np.stack([starts, stops], axis=1).reshape(-1), [ids.size]])
    run_lengths = np.diff(borders)
    numbers = np.arange(len(starts)) - np.searchsorted(spans.row, spans.row)
    numbered = (0 * numbers if packing.single_document else numbers).astype(np.int32)
    document_ids[:] = np.repeat(_between(-1, numbered), run_lengths)
    np.greater_equal(document_ids, 0, out=mask)
    numbering = positions or packing.positions
    if numbering == "row":
        arrays["position_ids"][:] = np.arange(seq_len)
    else:
        firsts = spans.start if numbering == "true" else 0
        np.add(_columns(ids.size), np.repeat(_between(0, firsts - starts), run_lengths), out=position_ids)
        position_ids[~mask] = 0
    mask[(stops - 1)[~has_target]] = False
    if packing.unscored is not None:
        mask &= _columns(ids.size) >= np.repeat(_between(0, starts + packing.n_unscored(spans)), run_lengths)
    if packing.loss_on == "last":
        _keep_last(arrays["target_mask"])
    # Padding behind the document is harmless: in a causal model later columns influence nothing.
    n_spans = np.bincount(spans.row, minlength=n_rows)
    is_single = (n_spans > 0) if packing.single_document else (n_spans == 1)
    return bool(is_single.all()) and not spans.column[numbers == 0].any()


def _copy_ids(
    ids: NDArray[Any], targets: NDArray[Any], block: DocumentBlock, spans: Spans, starts: Ints, pad_id: int
) -> NDArray[np.bool_]:
    """Writes the ids of spans, which begin at the columns `starts`, and the ids that follow them; the rest is padding.

    Returns whether each span has a target for its last input. One that ends with its document has none (`stream` with
    `joined`, where documents run on as one text).
    """
    n_inputs, documents = spans.stop - spans.start, block.locate(spans.doc)
    n_targets = np.minimum(n_inputs, documents.lengths - spans.start - 1)
    if (n_targets < n_inputs - 1).any():
        raise CorruptFile("the data were changed while they were read", fix="restore them, or pack them again")
    # Copied in the dtype of the shards and converted in one go. The target of an input is the next input; that of the
    # last one of a span, if any, stands in the document alone.
    inputs = np.full(ids.size + 1, pad_id, np.promote_types(documents.dtype, np.min_scalar_type(pad_id)))
    block.copy_ids(documents, spans.start, n_inputs, inputs, starts)
    ids[:], targets[:] = inputs[:-1], inputs[1:]
    targets[starts + n_inputs - 1] = block.ids_at(documents, np.minimum(spans.stop, documents.lengths - 1))
    has_target: NDArray[np.bool_] = n_targets == n_inputs
    return has_target


@lru_cache(maxsize=4)
def _columns(n: int) -> Ints:
    """0, 1, ..., n - 1: kept from one batch to the next."""
    columns = np.arange(n)
    columns.flags.writeable = False
    return columns


def _between(padding: int, values: NDArray[Any]) -> NDArray[Any]:
    """The values of runs of columns: `padding` before, between and behind those of the spans [n] -> [2 n + 1]."""
    out = np.full(2 * len(values) + 1, padding, values.dtype)
    out[1::2] = values
    return out


def _keep_last(mask: NDArray[np.bool_]) -> None:
    """Leaves the last True of each row."""
    last = mask.shape[1] - 1 - mask[:, ::-1].argmax(1)
    mask &= np.arange(mask.shape[1]) == last[:, None]


def make_batch(
    block: DocumentBlock, packing: Packing, vocab: VocabMeta, indices: Ints, *, positions: str | None = None
) -> Batch:
    """The batch of sequences `indices` [B] of one packing: for validation, inspection and tests."""
    check_choice("positions", positions or packing.positions)
    keys = np.stack([np.zeros_like(indices), np.zeros_like(indices), indices], axis=1)
    return assemble([Part(block, packing, indices)], keys, vocab, positions=positions)
