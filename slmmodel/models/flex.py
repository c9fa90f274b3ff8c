"""FlexAttention on CUDA for long packed rows: blocks that no document reaches are skipped (Dong et al. 2024).

What the machine can do is found by running a small case once, never by comparing versions. It has no dropout.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

LEAST_SLOTS = 512


def wanted(attention: str, doc_id: Tensor) -> bool:
    """True where FlexAttention is asked for, or is worth it and works on this device."""
    if attention == "flex":
        return True
    return attention == "auto" and doc_id.is_cuda and doc_id.shape[1] > LEAST_SLOTS and works(doc_id.device)


@functools.cache
def works(device: torch.device) -> bool:
    """Runs four slots forward and backward, compiled; False where anything of that fails."""
    try:
        doc_id = torch.zeros(1, 4, dtype=torch.int32, device=device)
        q = torch.ones(1, 1, 4, 16, device=device, requires_grad=True)
        torch.autograd.backward(attend(q, q, q, block_mask(doc_id)).sum())
    except Exception:
        # Whatever a missing compiler, an old driver or an unsupported card raises means the same here.
        return False
    return True


def block_mask(doc_id: Tensor) -> Any:
    """The block mask of `masks.allowed` over one batch."""
    from torch.nn.attention.flex_attention import create_block_mask

    def look(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return ((i >= j) & (doc_id[b, i] == doc_id[b, j]) & (doc_id[b, i] >= 0)) | (i == j)

    rows, slots = doc_id.shape
    return create_block_mask(look, rows, None, slots, slots, device=doc_id.device.type)


def attend(q: Tensor, k: Tensor, v: Tensor, blocks: Any) -> Tensor:
    """Attention of q [B,H,T,h] to k, v [B,K,T,h]; compiled on CUDA, plain elsewhere."""
    result: Tensor = _kernel(q.is_cuda)(q, k, v, block_mask=blocks, enable_gqa=q.shape[1] != k.shape[1])
    return result


@functools.cache
def _kernel(compiled: bool) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False) if compiled else flex_attention
