"""From logits to ids: the largest, or a draw by a keyed number. No generator objects, so any step can be replayed."""

from __future__ import annotations

import torch
from torch import Tensor

from slmmodel.mixing import M64, mix


def largest(logits: Tensor) -> Tensor:
    """int64 [B]: the id of the largest logit of [B,V]; the lowest of several."""
    ids = torch.arange(logits.shape[1], device=logits.device)
    best = logits.amax(1, keepdim=True)
    return torch.where(logits == best, ids, logits.shape[1]).amin(1)


def uniform(seed: int, row: int, step: int) -> float:
    """The number in [0, 1) that sample `row` of a request draws at `step`."""
    return (mix(mix(mix(seed & M64) ^ row) ^ step) >> 11) * 2.0**-53


def draw(logits: Tensor, u: Tensor) -> Tensor:
    """int64 [B]: the first id, in the order of ids, whose cumulative probability (fp64) exceeds u [B]."""
    cumulative = torch.softmax(logits.double(), 1).cumsum(1)
    # Rounding may leave the whole below 1; u stands for the same share of it.
    return torch.searchsorted(cumulative, u[:, None] * cumulative[:, -1:], right=True)[:, 0]
