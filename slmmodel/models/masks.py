"""Which slots a query may look at: built once a forward pass, shared by all layers and heads.

`allowed(b, i, j) = (j <= i and doc[b,i] == doc[b,j] and doc[b,i] >= 0) or i == j`: each document is a small lower
triangle. Padding looks at itself, since a query without keys has no defined result. Where a row is one document no
mask is made at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


class Mask(NamedTuple):
    """One of: causal without a tensor, everything allowed, a dense tensor, a block mask of FlexAttention."""

    causal: bool = False
    dense: Tensor | None = None
    """bool [B,1,T,S], True = look; or fp32, added to the scores."""
    blocks: Any = None


CAUSAL = Mask(causal=True)
EVERYTHING = Mask()


def allowed(queries: Tensor, keys: Tensor, offset: int) -> Tensor:
    """bool [B,T,S]. `queries` int [B,T], `keys` int [B,S]: document numbers; query i stands at slot offset + i."""
    at = torch.arange(queries.shape[1], device=queries.device)[:, None] + offset
    slots = torch.arange(keys.shape[1], device=keys.device)[None, :]
    same = (queries[:, :, None] == keys[:, None, :]) & (queries[:, :, None] >= 0)
    return (same & (slots <= at)) | (slots == at)


def document_mask(doc_id: Tensor, *, attention: str = "auto", dtype: torch.dtype = torch.float32) -> Mask:
    """The mask of a batch from its `doc_id`, int [B,T]; `attention` is `auto`, `sdpa` or `flex`."""
    from slmmodel.models import flex

    if flex.wanted(attention, doc_id):
        return Mask(blocks=flex.block_mask(doc_id))
    return dense_mask(allowed(doc_id, doc_id, 0), dtype)


def dense_mask(look: Tensor, dtype: torch.dtype) -> Mask:
    """A mask of bool [B,T,S]. On a CPU it is turned into numbers once, which each layer would otherwise do again."""
    look = look[:, None]
    if look.device.type == "cpu" and dtype == torch.float32 and not torch.is_autocast_enabled("cpu"):
        return Mask(dense=torch.zeros(look.shape).masked_fill_(~look, float("-inf")))
    return Mask(dense=look)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Mask, dropout: float = 0.0) -> Tensor:
    """Attention of q [B,H,T,h] to k, v [B,K,S,h] with scale 1/sqrt(h); H is a multiple of K. Returns [B,H,T,h]."""
    if mask.blocks is not None:
        from slmmodel.models import flex

        return flex.attend(q, k, v, mask.blocks)
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
    if q.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        # In bf16 the backward pass of the CPU's kernel takes fifteen times as long as in fp32.
        with torch.autocast("cpu", enabled=False):
            mixed = _dot_product(q.float(), k.float(), v.float(), mask, dropout)
        return mixed.to(torch.get_autocast_dtype("cpu"))
    return _dot_product(q, k, v, mask, dropout)


def _dot_product(q: Tensor, k: Tensor, v: Tensor, mask: Mask, dropout: float) -> Tensor:
    return scaled_dot_product_attention(q, k, v, attn_mask=mask.dense, dropout_p=dropout, is_causal=mask.causal)
