"""Parameter groups, and the `Optimizer` that steps them; no update rule is defined here.

Every trainable parameter is in exactly one group. *Matrices* are 2-D hidden weights: they are decayed, and Muon updates
them. *Embeddings* are tables indexed by id or position, and heads, tied or not. *Vectors* are norm weights and biases.
*Gates* are scalars that mix a memory into attention; their learning rate is separate.

Optimizer state is saved and loaded as tensors under `group/parameter/field`, matched strictly by name: an index would
change its meaning with the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from slmmodel.errors import CorruptState, InternalError

if TYPE_CHECKING:
    from torch import Tensor, nn

GROUPS = ("matrices", "embeddings", "vectors", "gates")
_GATE_NAMES = {"beta"}
_TABLE_NAMES = {"embedding", "embed", "positions", "position", "head", "unembedding"}

Named = dict[str, "nn.Parameter"]


def split(model: nn.Module) -> dict[str, Named]:
    """Trainable parameters by group, in the order of `named_parameters`; a shared one once, under its first name."""
    from torch import nn

    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    found: dict[str, Named] = {group: {} for group in GROUPS}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            found[_group(name, parameter, tables)][name] = parameter
    grouped = sum(map(len, found.values()))
    trainable = sum(parameter.requires_grad for parameter in model.parameters())
    if grouped != trainable:
        raise InternalError(f"{trainable} parameters, but {grouped} in groups", fix="report it")
    return found


def _group(name: str, parameter: nn.Parameter, tables: set[int]) -> str:
    parts = name.split(".")
    if parts[-1] in _GATE_NAMES:
        return "gates"
    if id(parameter) in tables or _TABLE_NAMES & set(parts[-2:]):
        return "embeddings"
    return "matrices" if parameter.ndim == 2 else "vectors"


def stacked_matrices(model: nn.Module) -> dict[str, int]:
    """The number of matrices of equal height in a parameter, for those that hold more than one.

    torch stores the gates of recurrent cells as one parameter. An update by singular values needs each of them.
    """
    from torch import nn

    gates: dict[type[nn.Module], int] = {nn.LSTM: 4, nn.GRU: 3}
    found: dict[str, int] = {}
    for path, module in model.named_modules():
        for cell, count in gates.items():
            if isinstance(module, cell):
                found |= {f"{path}.{name}" if path else name: count for name, _ in module.named_parameters()}
    return found


class UpdateRule(Protocol):
    """One update rule over the parameters of some groups."""

    def set(self, factor: float) -> None:
        """Sets the learning rates of the next step: peak times `factor`."""

    def step(self) -> None:
        """Updates the parameters from their gradients."""

    def state(self) -> dict[str, Tensor]:
        """State by `group/parameter/field`, each with the shape of its parameter or a scalar; may share memory."""

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Copies values in the form of `state`."""


class Optimizer:
    """The update rules of one optimizer, stepped together."""

    def __init__(
        self, rules: Mapping[str, UpdateRule], groups: Mapping[str, Named], rule_of: Mapping[str, str], peak: float
    ):
        self.rules = rules
        self.parameters = [parameter for group in GROUPS for parameter in groups[group].values()]
        self.description: dict[str, dict[str, Any]] = {
            group: {"rule": rule_of[group], "tensors": len(named), "parameters": sum(p.numel() for p in named.values())}
            for group, named in groups.items()
            if named
        }
        """Per group its update rule and its number of tensors and parameters, for display."""
        self.peak = peak
        """The learning rate of matrices at factor 1, for display."""

    @property
    def param_groups(self) -> list[dict[str, list[nn.Parameter]]]:
        """The parameters as `torch.amp.GradScaler` reads them."""
        return [{"params": self.parameters}]

    def set(self, factor: float) -> None:
        """Sets all learning rates of the next step: peak times `factor`."""
        for rule in self.rules.values():
            rule.set(factor)

    def step(self) -> None:
        """Updates every parameter."""
        for rule in self.rules.values():
            rule.step()

    def zero_grad(self) -> None:
        """Drops all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        """All state, by `group/parameter/field`."""
        return {key: tensor for rule in self.rules.values() for key, tensor in rule.state().items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Copies a state. Raises `CorruptState` where a key is missing, unknown, or of another shape."""
        own = self.state()
        for key in sorted(set(own) ^ set(state)):
            raise CorruptState(
                f"the optimizer state {'lacks' if key in own else 'has an unknown entry'} {key!r}",
                fix="resume from another step, or start the run again",
            )
        for key, tensor in own.items():
            if tensor.shape != state[key].shape:
                raise CorruptState(
                    f"the optimizer state {key!r} has shape {list(state[key].shape)}, not {list(tensor.shape)}",
                    fix="resume from another step, or start the run again",
                )
        for rule in self.rules.values():
            rule.load({key: state[key] for key in rule.state()})

    def nbytes(self) -> int:
        """Bytes of state."""
        return sum(tensor.nbytes for tensor in self.state().values())


def clip(parameters: Sequence[nn.Parameter], limit: float | None) -> Tensor:
    """Scales gradients in place to a joint norm of at most `limit`; returns the norm before, a scalar tensor.

    None clips nothing. A norm that is not finite makes the gradients unusable; callers check it.
    """
    from torch.nn.utils import clip_grads_with_norm_, get_total_norm

    norm: Tensor = get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
    if limit is not None:
        clip_grads_with_norm_(parameters, limit, norm)
    return norm
