"""The loss: cross-entropy summed over scored targets, in nats; the caller divides by the targets of the global batch.

Where the logits of a batch would be too large, the head is applied to chunks of tokens and recomputed in the
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
from slmmodel.data.batch import IGNORE_INDEX
from slmmodel.data.source import TokenSource, blocks_of
from slmmodel.data.strategies import strategy_of
from slmmodel.distributed import World
from slmmodel.indexing import explains_indexing
from slmmodel.run_files import Validation

if TYPE_CHECKING:
    from slmmodel.models.protocol import CarriedState, Model

MAX_LOGITS = 1 << 28
"""Logits that may exist at once: 1 GiB in fp32."""
LOGITS_COPIES = 3
"""Tensors of their size in the backward pass: logits, their log-softmax, and the gradient."""
MAX_VALIDATIONS = 10
"""Validations of a run, at most, where `run.eval_every` is auto."""
MAX_VALIDATION_SHARE = 0.1
"""All validations of a run together take this share of its operations, at most, where `run.eval_every` is auto."""
FORWARDS_PER_STEP = 3
"""Operations of forward and backward pass over those of the forward pass."""
VALIDATION_TOKENS = 4096
"""A validation batch has this many columns, at most, padding included."""


@explains_indexing
@dataclass(frozen=True)
class Loss:
    """Summed cross-entropy, in fp32 at least. `max_logits` has no effect on the result."""

    doc_mask: bool = True
    max_logits: int = MAX_LOGITS

    def sum_nats(self, model: Model, batch: Batch, forward: Any = None, *, state: CarriedState | None = None) -> Tensor:
        """Cross-entropy of all scored targets, summed, in nats: a scalar.

        `forward` is called, `model` itself by default; `model` has `config` and `unembed`, which DDP and a compiled
        model hide. `state` is one of `Model.bptt_state`.
        """
        forward = model if forward is None else forward
        targets = batch.targets
        if batch.n_targets != targets.numel():
            targets = targets.masked_fill(~batch.target_mask, IGNORE_INDEX)
        arguments = self._arguments(batch) if state is None else self._carried_arguments(model, batch, state)
        n_vocab = model.config.n_vocab
        if targets.numel() * n_vocab <= self.max_logits:
            return _cross_entropy_sum(forward(batch.ids, **arguments).logits.flatten(0, 1), targets.flatten())
        hidden = forward(batch.ids, **arguments, logits="none").hidden.flatten(0, 1)
        size = max(1, self.max_logits // n_vocab)
        chunks = zip(torch.split(hidden, size), torch.split(targets.flatten(), size), strict=True)

        def chunk_nats(hidden: Tensor, targets: Tensor) -> Tensor:
            return _cross_entropy_sum(model.unembed(hidden), targets)

        return torch.stack([checkpoint(chunk_nats, *chunk, use_reentrant=False) for chunk in chunks]).sum()

    def _arguments(self, batch: Batch) -> dict[str, Any]:
        """`position_ids` and `document_ids`: both None where causal attention and positions from 0 are enough."""
        if batch.one_document_per_row and self.doc_mask:
            return {"position_ids": None if batch.counts_from_zero else batch.position_ids, "document_ids": None}
        return {"position_ids": batch.position_ids, "document_ids": batch.document_ids if self.doc_mask else None}

    def _carried_arguments(self, model: Model, batch: Batch, state: CarriedState) -> dict[str, Any]:
        """With a state that is carried from step to step. A recurrence runs on across documents, so it gets none."""
        if model.config.recurrent:
            return {"state": state}
        document_ids = batch.document_ids if self.doc_mask else batch.document_ids.clamp(max=0)
        return {"state": state, "position_ids": batch.position_ids, "document_ids": document_ids}


def logits_bytes(n_targets: int, n_vocab: int, n_passes: int = 1) -> int:
    """Bytes of the fp32 logits of a batch that exist at once, where `n_passes` threads pass a part of it each."""
    return 4 * min(n_targets * n_vocab, n_passes * MAX_LOGITS)


def _cross_entropy_sum(logits: Tensor, targets: Tensor) -> Tensor:
    """Summed cross-entropy of targets [N] under logits [N, V], in fp32 at least."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return cross_entropy(logits, targets, ignore_index=IGNORE_INDEX, reduction="sum")


@dataclass(frozen=True)
class Validator:
    """Scores validation documents with the loss of the run, each target once, without overlapping windows.

    The result is a true code length, slightly above that of `slm eval`, whose windows overlap. It selects the best
    checkpoint and drives early stopping; final numbers come from `slm eval`. Position ids begin at 0 in each span,
    also where `data.positions` trains with others.
    """

    source: TokenSource
    loader: Loader
    """Of the training data."""
    seq_len: int
    """That of the model; a stage of the training data may have a shorter one."""
    max_targets: int = 1 << 21
    """The first documents up to this many targets are scored, the same ones each time."""

    def limited_to_share(self, trained: float, *, keep_count: bool = False) -> tuple[Validator, int]:
        """A validator and how often a run of `trained` targets may call it: `MAX_VALIDATION_SHARE` of its operations.

        First fewer validations, then shorter ones. With `keep_count`, for early stopping, which counts them, always
        `MAX_VALIDATIONS`.
        """
        allowed = int(MAX_VALIDATION_SHARE * FORWARDS_PER_STEP * trained)
        size = 0
        for block in blocks_of(self.source):
            size += int(block.lengths().sum())
            if size >= self.max_targets:
                break
        size = max(1, min(size, self.max_targets))
        count = MAX_VALIDATIONS if keep_count else min(max(allowed // size, 1), MAX_VALIDATIONS)
        return replace(self, max_targets=max(1, min(self.max_targets, allowed // count))), count

    def score(
        self, sum_nats: Callable[[Batch], Tensor], world: World, report: Callable[[int], None] | None = None
    ) -> Validation:
        """Adds up `sum_nats` over the batches of this rank, and over ranks. `report` gets the targets before each."""
        nats, n_targets, n_bytes = 0.0, 0, 0
        batches = self._batches()
        # All ranks take part in each round, since the forward pass of sharded parameters is a collective call.
        while one_each := list(islice(batches, world.size)):
            batch = one_each[min(world.rank, len(one_each) - 1)]
            if report is not None:
                report(n_targets * world.size)
            batch_nats = float(sum_nats(batch))
            if world.rank < len(one_each):
                nats += batch_nats
                n_targets, n_bytes = n_targets + batch.n_targets, n_bytes + batch.n_bytes
        nats, targets, total_bytes = world.reduce("sum", [nats, n_targets, n_bytes])
        bpb = nats / (math.log(2) * max(total_bytes, 1))
        return Validation(loss=nats / max(targets, 1), bpb=bpb, targets=int(targets), bytes=int(total_bytes))

    def _batches(self) -> Iterator[Batch]:
        loader, scored = self.loader, 0
        size = max(1, min(loader.batch_size * loader.seq_len, VALIDATION_TOKENS) // self.seq_len)
        pack = loader.strategy.validation_pack
        options: dict[str, Any] = {"batch_size": size} if "batch_size" in strategy_of(pack).OPTIONS else {}
        for block in blocks_of(self.source):
            packing = make_packing(pack, block.lengths(), self.seq_len, shuffle=False, **options)
            for first in range(0, len(packing), size):
                if scored >= self.max_targets:
                    return
                indices = np.arange(first, min(first + size, len(packing)))
                batch = make_batch(block, packing, loader.vocab, indices)
                scored += batch.n_targets
                yield batch
