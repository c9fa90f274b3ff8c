"""Rotary positions (Su et al. 2021), in halves: (u_j, u_(j+h/2)) turns by position * base^(-2j/h)."""

from __future__ import annotations

import torch
from torch import Tensor


def rope_tables(context: int, head_dim: int, base: float) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines, fp32 [context, 1, h] each: computed in fp64, so that they do not depend on the device.

    The first half of the sines is negated, so that a rotation is `x * cos + swap(x) * sin`, with `swap` exchanging
    halves.
    """
    frequency = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    angle = torch.arange(context, dtype=torch.float64)[:, None] * frequency
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([cos, cos], -1).float()[:, None], torch.cat([-sin, sin], -1).float()[:, None]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates [B,T,N,h] by tables [T,1,h] or [B,T,1,h]."""
    return x * cos + torch.roll(x, x.shape[-1] // 2, -1) * sin
