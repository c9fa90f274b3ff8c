"""Layers of torch without torch's own initial weights, which would move the global random state; `init.py` fills them."""

from __future__ import annotations

from torch import nn


def linear(inputs: int, outputs: int, *, bias: bool = False) -> nn.Linear:
    """A projection whose weight [outputs, inputs], and bias where asked for, are undefined."""
    return nn.Linear(inputs, outputs, bias=bias, device="meta").to_empty(device="cpu")


def cells(kind: type[nn.RNNBase], inputs: int, hidden: int, layers: int, dropout: float) -> nn.RNNBase:
    """Stacked recurrent cells over [B, T, inputs], undefined likewise."""
    made = kind(inputs, hidden, layers, batch_first=True, dropout=dropout, device="meta")  # type: ignore[call-arg]
    return made.to_empty(device="cpu")
