"""The attention mask as a mask function, and attention itself by SDPA or FlexAttention.

A mask function is a `mask_mod` of FlexAttention: it takes index tensors `(b, h, q_idx, kv_idx)` that broadcast and
returns a bool tensor, True where the query in column `q_idx` of row `b` may attend to the key in column `kv_idx`.
FlexAttention takes such functions as they are; for SDPA they are evaluated once per forward pass into a dense mask that
all layers and heads share. Rows of one document each, with padding only at the end, need no mask where the window is
not shorter than the row: SDPA's `is_causal` is enough.

A row is an index along the batch axis; a column is an index along the sequence axis of a batch or a cache, padding
included.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from slmmodel.models.dropout import dropout as drop
from slmmodel.models.dropout import own_generator

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

MaskFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

Mask: TypeAlias = "Tensor | BlockMask | None"
"""What `attend` takes: a tensor [B or 1, 1, T, S] (bool, True where a query may attend, or fp32, added to the scores);
a `BlockMask` of FlexAttention; None: causal over the same T columns, or a single query that attends to all keys."""

MIN_FLEX_SEQ_LEN = 512
"""`auto` takes FlexAttention for longer rows: it skips the tiles between documents (Dong et al. 2024)."""


def mask_function(document_ids: Tensor | None, window: int | None) -> MaskFunction:
    """Keys up to the query: of its document (`document_ids`, int [B, S], -1 padding), among the last `window` columns.

    A padding column attends to itself alone: softmax over no keys is undefined.
    """

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        allowed = kv_idx <= q_idx
        if window is not None:
            allowed = allowed & (q_idx - kv_idx < window)
        if document_ids is not None:
            same_document = (document_ids[b, q_idx] == document_ids[b, kv_idx]) & (document_ids[b, q_idx] >= 0)
            allowed = (allowed & same_document) | (q_idx == kv_idx)
        return allowed

    return mask


def make_mask(
    document_ids: Tensor | None,
    window: int | None,
    ids: Tensor,
    start: int = 0,
    *,
    dtype: torch.dtype = torch.float32,
    backend: str = "auto",
) -> Mask:
    """The mask of queries in columns start..start+T-1 over keys in columns 0..start+T-1.

    None where causal attention is enough: without document_ids, with no window or one not shorter than the row.
    document_ids: int [B, start + T] of the keys, or None. ids: [B, T], for shape and device. dtype: of the queries.
    backend: `auto`, `sdpa` or `flex`.
    """
    batch_size, q_len = ids.shape
    kv_len = start + q_len
    if window is not None and window >= kv_len:
        window = None
    if document_ids is None and window is None and (start == 0 or q_len == 1):
        return None
    function = mask_function(document_ids, window)
    is_long = ids.is_cuda and q_len > MIN_FLEX_SEQ_LEN
    if start == 0 and (backend == "flex" or (backend == "auto" and is_long and flex_works(ids.device))):
        from torch.nn.attention.flex_attention import create_block_mask

        return create_block_mask(function, batch_size, None, q_len, kv_len, device=ids.device.type)
    allowed = evaluate(function, batch_size if document_ids is not None else 1, start, q_len, ids.device)
    if ids.device.type == "cpu" and dtype == torch.float32 and not torch.is_autocast_enabled("cpu"):
        # SDPA on the CPU would convert a bool mask in every layer.
        return torch.zeros(allowed.shape).masked_fill_(~allowed, float("-inf"))
    return allowed


def evaluate(mask: MaskFunction, batch_size: int, start: int, q_len: int, device: torch.device) -> Tensor:
    """A mask function as bool [B, 1, T, S]."""
    b = torch.arange(batch_size, device=device)[:, None, None, None]
    q_idx = torch.arange(start, start + q_len, device=device)[None, None, :, None]
    kv_idx = torch.arange(start + q_len, device=device)[None, None, None, :]
    return mask(b, torch.zeros_like(b), q_idx, kv_idx).expand(batch_size, 1, q_len, start + q_len)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Mask, dropout: float = 0.0) -> Tensor:
    """Attention of q [B, H, T, h] to k, v [B, K, S, h] with scale 1/sqrt(h); H is a multiple of K. [B, H, T, h]."""
    if torch.is_autocast_enabled("cpu") and q.device.type == "cpu":
        # The backward pass of the CPU kernel takes 15x as long in bf16 as in fp32.
        with torch.autocast("cpu", enabled=False):
            return attend(q.float(), k.float(), v.float(), mask, dropout).to(torch.get_autocast_dtype("cpu"))
    is_grouped = q.shape[1] != k.shape[1]
    if mask is None or isinstance(mask, Tensor):
        is_causal = mask is None and q.shape[2] > 1
        if dropout and own_generator() is not None:
            return _attend_with_dropout(q, k, v, mask, dropout, is_causal)
        return scaled_dot_product_attention(q, k, v, mask, dropout, is_causal, enable_gqa=is_grouped)
    y: Tensor = _flex_attention(q.is_cuda)(q, k, v, block_mask=mask, enable_gqa=is_grouped)
    return y


def _attend_with_dropout(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, is_causal: bool) -> Tensor:
    """`attend`, with masks of `dropout.py`: the kernels of SDPA draw theirs from torch's generator."""
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1)
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    return drop(scores.softmax(-1), p) @ v


@functools.cache
def flex_works(device: torch.device) -> bool:
    """Compiles and runs FlexAttention on 4 columns, forward and backward; False where any part of that fails."""
    try:
        ids = torch.zeros(1, 4, dtype=torch.int32, device=device)
        q = torch.ones(1, 1, 4, 16, device=device, requires_grad=True)
        torch.autograd.backward(attend(q, q, q, make_mask(ids, None, ids, backend="flex")).sum())
    except Exception:
        # A missing compiler, an old driver and an unsupported GPU raise different errors with one meaning.
        return False
    return True


@functools.cache
def _flex_attention(compiled: bool) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False) if compiled else flex_attention
