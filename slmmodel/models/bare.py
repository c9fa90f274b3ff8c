"""Layers of torch without initial weights: drawing torch's own would move the global random state."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn


def linear(inputs: int, outputs: int, *, bias: bool = False) -> nn.Linear:
    """A projection whose weight [outputs, inputs], and bias where asked for, are undefined."""
    return nn.Linear(inputs, outputs, bias=bias, device="meta").to_empty(device="cpu")


def cells(kind: Callable[..., nn.RNNBase], inputs: int, hidden: int, layers: int, dropout: float) -> nn.RNNBase:
    """Stacked recurrent cells over [B, T, inputs], undefined likewise."""
    return kind(inputs, hidden, layers, batch_first=True, dropout=dropout, device="meta").to_empty(device="cpu")
