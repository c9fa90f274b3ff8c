"""The options that `lstm`, `gru` and `rnn` share, and what their sizes come to. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slmmodel.models.config import Sizes
from slmmodel.models.options import require


@dataclass(frozen=True)
class RecurrentOptions:
    """Shape of a recurrent model."""

    layers: int
    width: int
    """of embeddings and of what the head multiplies"""
    hidden: int
    """of the cells"""
    tied: bool = True
    dropout: float = 0.0
    """between layers"""
    softcap: float | None = None
    """c: logits become c tanh(logits / c)"""

    gates: ClassVar[int] = 1
    """matrices of a cell for each of its two inputs"""

    def resolved(self, context: int) -> RecurrentOptions:
        """The options, checked. Raises `InvalidModelConfig`."""
        for name, value in (("layers", self.layers), ("width", self.width), ("hidden", self.hidden)):
            require(value > 0, f"{name} is {value}", limit="at least 1")
        require(0 <= self.dropout < 1, f"dropout is {self.dropout}", limit="0 <= dropout < 1")
        require(self.softcap is None or self.softcap > 0, f"softcap is {self.softcap}", limit="above 0")
        return self

    def sizes(self, context: int) -> Sizes:
        """Elements of the body: per layer gates x hidden x (inputs + hidden), two biases, and the map to width d."""
        n = self.gates * self.hidden
        inputs = self.width + (self.layers - 1) * self.hidden
        matrices = n * (inputs + self.layers * self.hidden) + self.hidden * self.width
        return Sizes(matrices, 2 * n * self.layers + self.width, 0, 0)
