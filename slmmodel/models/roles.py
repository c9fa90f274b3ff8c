"""What each parameter is, by name and shape: matrix, embedding, vector, gate. So optimizers need not know models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn

_EMBEDDINGS = {"embed.weight", "head.weight", "positions.weight"}


def role(name: str, parameter: Tensor) -> str:
    """`embedding` (tables and head), `gate` (mixing weights of memories), `matrix` (other 2-D weights), `vector`."""
    if name in _EMBEDDINGS:
        return "embedding"
    if name.endswith(".beta"):
        return "gate"
    return "matrix" if parameter.ndim >= 2 else "vector"


def roles(model: nn.Module) -> dict[str, str]:
    """The role of every parameter of a model of this package, in the model's order."""
    return {name: role(name, parameter) for name, parameter in model.named_parameters()}
