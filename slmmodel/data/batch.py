"""`Batch`: the tensors of some sequences, and how they are assembled from spans.

A span of a document fills consecutive columns: inputs are its ids, targets the same ids shifted by one. All other
columns are padding. `data.positions` numbers `position_ids`: `reset` (0 at the start of each span), `true` (index in
the document) or `row` (index in the sequence). Tensors stay on the CPU; the training step moves them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.packing import Ints, Packing, Spans, check_choice
from slmmodel.data.source import DocumentBlock
from slmmodel.errors import CorruptFile, WrongType
from slmmodel.foreign_attributes import OF_BATCHES, explains_absent_names
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    import torch
    from torch import Tensor

TENSORS = ("ids", "targets", "target_mask", "document_ids", "position_ids")
IGNORE_INDEX = -100
"""The label of a target that is not scored, which torch's cross entropy leaves out."""


@explains_absent_names(OF_BATCHES)
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
    """int64 [B, T]: what the positional encoding of the model sees; at padding 0, with `row` the column."""
    row_targets: Ints
    """[B]: scored targets of each sequence."""
    row_bytes: Ints
    """[B]: bytes of the scored targets of each sequence, by the bytes of each id in `vocab.json`."""
    sequence_keys: Ints
    """[B, 3]: epoch, block and index of each sequence, so that any batch can be rebuilt and named in an error."""
    one_document_per_row: bool
    """Each sequence is one document with padding only at its end, so attention needs no document mask."""
    counts_from_zero: bool
    """The position ids of each sequence are 0, 1, 2, ... up to its padding, as a model counts without any."""

    @property
    def n_targets(self) -> int:
        """Scored targets, counted on the CPU: reading it does not synchronise."""
        return int(self.row_targets.sum())

    @property
    def n_bytes(self) -> int:
        """Bytes of the scored targets, by `vocab.json`; `slm eval` compares them with those of the documents."""
        return int(self.row_bytes.sum())

    def to(self, device: torch.device) -> Batch:
        """The batch with its tensors on `device`; `self` where that is the CPU."""
        if device.type == "cpu":
            return self
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=True) for name in TENSORS})

    def __iter__(self) -> NoReturn:
        # Without it, `x, y = batch` would ask `__getitem__` for the sequences 0, 1, 2, ...
        raise WrongType("a Batch is no pair of tensors", fix="x, y = batch.ids, batch.targets")

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

    shape = len(keys), max((int(part.packing.n_columns_of(part.indices).max(initial=0)) for part in parts), default=0)
    pad_id = vocab.pad_id
    dtypes = dict(zip(TENSORS, (np.int64, np.int64, np.bool_, np.int32, np.int64), strict=True))
    arrays: dict[str, NDArray[Any]] = {name: np.empty(shape, dtype) for name, dtype in dtypes.items()}
    row, one_document_per_row = 0, True
    for part in parts:
        rows = slice(row, row := row + len(part.indices))
        one_document_per_row &= _fill({name: array[rows] for name, array in arrays.items()}, part, positions, pad_id)
    targets, mask = arrays["targets"], arrays["target_mask"]
    if mask.all():
        row_targets = np.full(shape[0], shape[1], dtype=np.int64)
    else:
        targets[~mask] = pad_id
        row_targets = mask.sum(1, dtype=np.int64)
    # Every target that is not scored is the padding id.
    pad_nbytes = (shape[1] - row_targets) * int(vocab.token_nbytes[pad_id])
    row_bytes = vocab.token_nbytes.astype(np.int64).take(targets).sum(1) - pad_nbytes
    is_padding = arrays["document_ids"] < 0
    counts_from_zero = bool(((arrays["position_ids"] == _columns(shape[1])) | is_padding).all())
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if pin and torch.cuda.is_available():
        tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
    return Batch(
        **tensors,
        row_targets=row_targets,
        row_bytes=row_bytes,
        sequence_keys=keys,
        one_document_per_row=one_document_per_row,
        counts_from_zero=counts_from_zero,
    )


class _Layout(NamedTuple):
    """Where spans lie in the columns of all rows, end to end: padding (maybe none), span, ..., span, padding."""

    starts: Ints
    """First column of each span [n]."""
    stops: Ints
    """The column behind its last one [n]."""
    run_lengths: Ints
    """Columns of each padding and span [2 n + 1]."""

    def fill_runs(self, padding: int, of_spans: NDArray[Any]) -> NDArray[Any]:
        """For each column the value of its span, of those `of_spans` [n], or `padding`."""
        values = np.full(2 * len(of_spans) + 1, padding, of_spans.dtype)
        values[1::2] = of_spans
        return np.repeat(values, self.run_lengths)


def _layout_of(spans: Spans, seq_len: int, n_columns: int) -> _Layout:
    starts = spans.row * seq_len + spans.column
    stops = starts + spans.stop - spans.start
    borders = np.concatenate([[0], np.stack([starts, stops], axis=1).reshape(-1), [n_columns]])
    return _Layout(starts, stops, np.diff(borders))


def _fill(arrays: Mapping[str, NDArray[Any]], part: Part, positions: str | None, pad_id: int) -> bool:
    """Writes the sequences of a part to arrays [n, T] (targets: where they are scored).

    Returns `Batch.one_document_per_row`.

    Only ids are copied span by span, all else is computed for whole rows: a numpy call costs several times the copy
    of a span. A row of 8 columns with the inputs 5 to 7 of one document, and 0 to 3 of another:

        document_ids  0 0 0 1 1 1 1 -1
        position_ids  0 1 2 0 1 2 3 0 (reset), 5 6 7 0 1 2 3 0 (true), 0 1 2 3 4 5 6 7 (row)
    """
    block, packing, indices = part
    spans, (n_rows, seq_len) = packing.spans_of(indices), arrays["ids"].shape
    ids, targets, document_ids = (arrays[name].reshape(-1) for name in ("ids", "targets", "document_ids"))
    layout = _layout_of(spans, seq_len, ids.size)
    has_target = _copy_ids(ids, targets, block, spans, layout.starts, pad_id)
    number_in_row = np.arange(len(spans.row)) - np.searchsorted(spans.row, spans.row)
    # `stream` with `joined`: all documents of a row are one text, with one id.
    numbers = 0 * number_in_row if packing.joins_documents else number_in_row
    document_ids[:] = layout.fill_runs(-1, numbers.astype(np.int32))
    _number_positions(arrays["position_ids"], positions or packing.default_positions, spans, layout, document_ids)
    _mark_scored(arrays["target_mask"], packing, spans, layout, document_ids, has_target)
    # Padding behind the document is harmless: in a causal model later columns influence nothing.
    n_spans = np.bincount(spans.row, minlength=n_rows)
    is_one_document = (n_spans > 0) if packing.joins_documents else (n_spans == 1)
    return bool(is_one_document.all()) and not spans.column[number_in_row == 0].any()


def _number_positions(
    position_ids: NDArray[Any], positions: str, spans: Spans, layout: _Layout, document_ids: NDArray[Any]
) -> None:
    """Writes the position ids [n, T] of `reset`, `true` or `row`."""
    if positions == "row":
        position_ids[:] = np.arange(position_ids.shape[1])
        return
    flat, firsts = position_ids.reshape(-1), spans.start if positions == "true" else 0
    np.add(_columns(flat.size), layout.fill_runs(0, firsts - layout.starts), out=flat)
    flat[document_ids < 0] = 0


def _mark_scored(
    mask: NDArray[np.bool_],
    packing: Packing,
    spans: Spans,
    layout: _Layout,
    document_ids: NDArray[Any],
    has_target: NDArray[np.bool_],
) -> None:
    """Writes the target mask [n, T]: inputs with a target that is scored; with `loss_on: last` the last of each row."""
    flat = mask.reshape(-1)
    np.greater_equal(document_ids, 0, out=flat)
    flat[(layout.stops - 1)[~has_target]] = False
    if packing.unscored is not None:
        flat &= _columns(flat.size) >= layout.fill_runs(0, layout.starts + packing.n_unscored(spans))
    if packing.loss_on == "last":
        last = mask.shape[1] - 1 - mask[:, ::-1].argmax(1)
        mask &= np.arange(mask.shape[1]) == last[:, None]


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


def make_batch(
    block: DocumentBlock, packing: Packing, vocab: VocabMeta, indices: Ints, *, positions: str | None = None
) -> Batch:
    """The batch of sequences `indices` [B] of one packing: for validation, inspection and tests."""
    check_choice("positions", positions or packing.default_positions)
    keys = np.stack([np.zeros_like(indices), np.zeros_like(indices), indices], axis=1)
    return assemble([Part(block, packing, indices)], keys, vocab, positions=positions)
