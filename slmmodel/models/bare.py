"""Layers of torch without initial weights: drawing torch's own would move the global random state.

They are made where they stay. Torch's other way, by its meta device, imports sympy first.
"""

from __future__ import annotations

from typing import Any

from torch import nn


class Linear(nn.Linear):
    """torch's, with undefined weights."""

    def reset_parameters(self) -> None:
        """Draws nothing."""


def linear(inputs: int, outputs: int, *, bias: bool = False) -> nn.Linear:
    """A projection whose weight [outputs, inputs], and bias where asked for, are undefined."""
    return Linear(inputs, outputs, bias=bias)


def cells(kind: type[nn.RNNBase], inputs: int, hidden: int, layers: int, dropout: float) -> nn.RNNBase:
    """Stacked recurrent cells over [B, T, inputs], undefined likewise."""
    undrawn: Any = type(kind.__name__, (kind,), {"reset_parameters": Linear.reset_parameters})
    made: nn.RNNBase = undrawn(inputs, hidden, layers, batch_first=True, dropout=dropout)
    return made
