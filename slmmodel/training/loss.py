"""The loss: the sum of nats over scored targets, in fp32; the caller divides by the targets of the global batch.

Where the logits of a batch would be too large, the head is applied to chunks of positions and recomputed in the
backward pass; the sum is the same up to rounding. Validation during training uses the same sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from slmmodel.data import Batch, Loader, make_batch, make_packing
from slmmodel.data.source import TokenSource, blocks_of
from slmmodel.distributed import World

if TYPE_CHECKING:
    from slmmodel.models.protocol import Model

IGNORE_INDEX = -100
MAX_LOGITS = 1 << 28
"""Logits that may exist at once: 1 GiB in fp32."""
MAX_VALIDATIONS = 10
"""Of a run, where `run.eval_every` is auto."""
MAX_VALIDATION_SHARE = 0.1
"""Of the operations of training that all validations may take together, where `run.eval_every` is auto."""
FORWARDS_PER_STEP = 3
"""Operations of forward and backward pass over those of the forward pass."""
VALIDATION_TOKENS = 4096
"""Positions of a validation batch, at most."""


@dataclass(frozen=True)
class Loss:
    """Sums nats. `max_logits` has no effect on the result."""

    doc_mask: bool = True
    max_logits: int = MAX_LOGITS

    def sum(self, model: Model, batch: Batch, call: Any = None, *, state: Any = None) -> Tensor:
        """Nats of all scored targets: a scalar.

        `call` runs the forward pass where that is not `model` itself (DDP, a compiled model). `state` is one that a
        recurrent model starts from and updates; positions and documents are not passed then, so the recurrence runs on
        across documents.
        """
        call = model if call is None else call
        targets = batch.targets
        if batch.n_targets != targets.numel():
            targets = targets.masked_fill(~batch.target_mask, IGNORE_INDEX)
        inputs = self._inputs(batch) if state is None else {"state": state}
        n_vocab = model.config.n_vocab
        if targets.numel() * n_vocab <= self.max_logits:
            return _nats(call(batch.ids, **inputs).logits.flatten(0, 1), targets.flatten())
        hidden = call(batch.ids, **inputs, logits="none").hidden.flatten(0, 1)
        size = max(1, self.max_logits // n_vocab)
        chunks = zip(torch.split(hidden, size), torch.split(targets.flatten(), size), strict=True)

        def nats(part: Tensor, of: Tensor) -> Tensor:
            return _nats(model.unembed(part), of)

        return torch.stack([checkpoint(nats, *chunk, use_reentrant=False) for chunk in chunks]).sum()

    def _inputs(self, batch: Batch) -> dict[str, Any]:
        """Positions and documents: both None where causal attention and positions from 0 are enough."""
        if batch.single_document and self.doc_mask:
            from_zero = bool((batch.position_ids[:, 0] == 0).all())
            return {"position_ids": None if from_zero else batch.position_ids, "document_ids": None}
        return {"position_ids": batch.position_ids, "document_ids": batch.document_ids if self.doc_mask else None}


def _nats(logits: Tensor, targets: Tensor) -> Tensor:
    """Sum of nats of targets [N] under logits [N, V], in fp32 at least."""
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return cross_entropy(wide, targets, ignore_index=IGNORE_INDEX, reduction="sum")


@dataclass(frozen=True)
class Validation:
    """Result of a validation: nats per target, bits per raw byte, and what was scored."""

    loss: float
    bpb: float
    targets: int
    bytes: int


@dataclass(frozen=True)
class Validator:
    """Scores validation documents with the loss of the run, each target once, without overlapping windows.

    The result is a true code length, slightly above that of `slm eval`, whose windows overlap. It selects the best
    checkpoint and drives early stopping; final numbers come from `slm eval`.
    """

    source: TokenSource
    loader: Loader
    """Of the training data."""
    max_targets: int = 1 << 21
    """The first documents up to this many targets are scored, the same ones each time."""

    def within(self, trained: float, *, fixed: bool = False) -> tuple[Validator, int]:
        """A validator and how often a run of `trained` targets may call it: `MAX_VALIDATION_SHARE` of its operations.

        First fewer validations, then shorter ones; with `fixed` always `MAX_VALIDATIONS`.
        """
        allowed = int(MAX_VALIDATION_SHARE * FORWARDS_PER_STEP * trained)
        size = 0
        for block in blocks_of(self.source):
            size += int(block.lengths().sum())
            if size >= self.max_targets:
                break
        size = max(1, min(size, self.max_targets))
        count = MAX_VALIDATIONS if fixed else min(max(allowed // size, 1), MAX_VALIDATIONS)
        return replace(self, max_targets=max(1, min(self.max_targets, allowed // count))), count

    def run(self, nats: Callable[[Batch], Tensor], world: World) -> Validation:
        """Sums `nats` over the batches of this rank, and over ranks."""
        total, targets, n_bytes = 0.0, 0, 0
        batches = self._batches()
        # All ranks take part in each round, since the forward pass of sharded parameters is a collective call.
        while one_each := list(islice(batches, world.size)):
            batch = one_each[min(world.rank, len(one_each) - 1)]
            found = float(nats(batch))
            if world.rank < len(one_each):
                total += found
                targets, n_bytes = targets + batch.n_targets, n_bytes + batch.n_bytes
        total, scored, read = world.reduce("sum", [total, targets, n_bytes])
        return Validation(total / max(scored, 1), total / (math.log(2) * max(read, 1)), int(scored), int(read))

    def _batches(self) -> Iterator[Batch]:
        loader, scored = self.loader, 0
        size = max(1, min(loader.batch_size, VALIDATION_TOKENS // loader.seq_len))
        pack = "bucket" if loader.pack in ("bucket", "stateful") else "concat"
        options: dict[str, Any] = {"batch_size": size} if pack == "bucket" else {}
        for block in blocks_of(self.source):
            packing = make_packing(pack, block.lengths(), loader.seq_len, shuffle=False, **options)
            for first in range(0, len(packing), size):
                if scored >= self.max_targets:
                    return
                indices = np.arange(first, min(first + size, len(packing)))
                batch = make_batch(block, packing, loader.vocab, indices)
                scored += batch.n_targets
                yield batch
