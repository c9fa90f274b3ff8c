"""Parameter groups: every parameter of a model in exactly one of matrices, embeddings, vectors, gates.

*Matrices* are 2-D hidden weights: they are decayed, and they are what Muon is for. *Embeddings* are tables looked up by
id or position, and heads, tied or not. *Vectors* are gains and biases. *Gates* are the scalars that mix a memory into
attention; they get a rate of their own. Nothing is known here of an optimizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from slmmodel.errors import InternalError

if TYPE_CHECKING:
    from torch import nn

GROUPS = ("matrices", "embeddings", "vectors", "gates")
_GATE_NAMES = {"beta"}
_TABLE_NAMES = {"embedding", "embed", "positions", "position", "head", "unembedding"}

Named = dict[str, "nn.Parameter"]


def split(model: nn.Module) -> dict[str, Named]:
    """Trainable parameters by group, in the order of `named_parameters`; a shared one counts once, by its first
    name."""
    tables = _tables(model)
    found: dict[str, Named] = {group: {} for group in GROUPS}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            found[_group(name, parameter, tables)][name] = parameter
    listed = sum(map(len, found.values()))
    wanted = sum(parameter.requires_grad for parameter in model.parameters())
    if listed != wanted:
        raise InternalError(f"{wanted} parameters, but {listed} in groups", fix="report it")
    return found


def _group(name: str, parameter: nn.Parameter, tables: set[int]) -> str:
    parts = name.split(".")
    if parts[-1] in _GATE_NAMES:
        return "gates"
    if id(parameter) in tables or _TABLE_NAMES & set(parts[-2:]):
        return "embeddings"
    return "matrices" if parameter.ndim == 2 else "vectors"


def _tables(model: nn.Module) -> set[int]:
    from torch import nn

    return {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}


def fused_blocks(model: nn.Module) -> dict[str, int]:
    """How many matrices of equal height lie one above the other in a parameter, for those with more than one.

    torch stores the gates of recurrent layers so. An update that looks at singular values has to see them one by one.
    """
    return {name: count for name, count in _recurrent(model) if count > 1}


def _recurrent(model: nn.Module) -> Iterator[tuple[str, int]]:
    from torch import nn

    gates: dict[type[nn.Module], int] = {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}
    for path, module in model.named_modules():
        for kind, count in gates.items():
            if isinstance(module, kind):
                yield from ((f"{path}.{name}" if path else name, count) for name, _ in module.named_parameters())
