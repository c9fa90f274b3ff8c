"""The loss: the sum of nats over scored targets, in fp32, never a mean; dividing is the business of who knows the whole
batch.

Where rows x slots x ids would be too much at once, the head is applied to chunks of slots and computed again in the
backward pass, so that only one chunk's logits exist at a time. Both ways give the same sum up to rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

if TYPE_CHECKING:
    from slmmodel.data.batch import Batch
    from slmmodel.models.protocol import Model

IGNORED = -100
MOST_LOGITS = 1 << 28
"""Logits that may exist at once: a gigabyte in fp32."""


def scored(batch: Batch) -> Tensor:
    """Targets [B,T] with `IGNORED` where nothing is scored."""
    if batch.n_targets == batch.targets.numel():
        return batch.targets
    return batch.targets.masked_fill(~batch.target_mask, IGNORED)


def inputs(batch: Batch, *, doc_mask: bool = True) -> dict[str, Tensor | None]:
    """What a model is told besides ids: nothing where every row is one document, counted from 0."""
    if batch.single_doc and doc_mask:
        return {"positions": None if _from_zero(batch) else batch.positions, "doc_id": None}
    return {"positions": batch.positions, "doc_id": batch.doc_id if doc_mask else None}


def _from_zero(batch: Batch) -> bool:
    """Whether positions of single documents are the slot numbers; they are unless rows continue with `true`."""
    return bool((batch.positions[:, 0] == 0).all())


class Loss:
    """Sums nats. `chunk` is how many logits may exist at once; it has no part in the result."""

    def __init__(self, *, doc_mask: bool = True, most_logits: int = MOST_LOGITS) -> None:
        self.doc_mask, self.most_logits = doc_mask, most_logits

    def sum(self, model: Model, batch: Batch, call: Model | None = None, *, state: Any = None) -> Tensor:
        """Nats of all scored targets, a scalar.

        `call` is what runs forward, where that is a compiled `model`. `state` is one that recurrent models start from
        and bring up to date; it knows where documents are.
        """
        run = model if call is None else call
        targets = scored(batch)
        told: dict[str, Any] = inputs(batch, doc_mask=self.doc_mask) if state is None else {"state": state}
        slots, width = targets.numel(), model.config.n_vocab
        if slots * width <= self.most_logits:
            logits = run(batch.ids, **told).logits
            assert logits is not None, "all logits were asked for"
            return cross_entropy(_wide(logits.flatten(0, 1)), targets.flatten(), ignore_index=IGNORED, reduction="sum")
        hidden = run(batch.ids, **told, logits="none").hidden.flatten(0, 1)
        size = max(1, self.most_logits // width)
        pieces = zip(torch.split(hidden, size), torch.split(targets.flatten(), size), strict=True)
        parts = [_chunk(model, part, of) for part, of in pieces]
        return torch.stack(parts).sum()


def _wide(logits: Tensor) -> Tensor:
    """Logits in fp32 at least: their exponentials need it."""
    return logits if logits.dtype in (torch.float32, torch.float64) else logits.float()


def _chunk(model: Model, hidden: Tensor, targets: Tensor) -> Tensor:
    from torch.utils.checkpoint import checkpoint

    def nats(hidden: Tensor) -> Tensor:
        logits = _wide(model.unembed(hidden))
        return cross_entropy(logits, targets, ignore_index=IGNORED, reduction="sum")

    found: Tensor = checkpoint(nats, hidden, use_reentrant=False)
    return found
