"""Parameter groups, AdamW over them, and the `Optimizer` that steps them.

Every trainable parameter is in exactly one group. *Matrices* are 2-D hidden weights: they are decayed, and Muon updates
them. *Embeddings* are tables indexed by id or position, and heads, tied or not: an `nn.Embedding`, or by name.
*Vectors* are norm weights and biases. *Gates* weigh a memory against attention (`infini.py`): they have a
rate and a decay of their own, since at the rate of matrices they hardly move.

Optimizer state is saved and loaded as tensors under `group/parameter/field`: an index would change its meaning with the
model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from slmmodel.config import OptimConfig

GROUPS = ("matrices", "embeddings", "vectors", "gates")
_GATE_NAME = "beta"
_EMBEDDING_NAMES = {"embedding", "embed", "positions", "position", "head", "unembedding"}

NamedParameters = dict[str, nn.Parameter]


def group_parameters(model: nn.Module) -> dict[str, NamedParameters]:
    """Trainable parameters by group, in the order of `named_parameters`; a shared one once, under its first name."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    groups: dict[str, NamedParameters] = {group: {} for group in GROUPS}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            is_embedding = id(parameter) in embeddings or _EMBEDDING_NAMES & set(name.split(".")[-2:])
            small = "gates" if name.rpartition(".")[2] == _GATE_NAME else "vectors"
            group = "embeddings" if is_embedding else "matrices" if parameter.ndim == 2 else small
            groups[group][name] = parameter
    return groups


def matrices_per_parameter(model: nn.Module) -> dict[str, int]:
    """How many matrices each parameter of recurrent cells holds, one for each gate of a cell, by name.

    torch stacks them in one parameter. An update by singular values needs each of them.
    """
    return {
        f"{path}.{name}" if path else name: len(parameter) // module.hidden_size
        for path, module in model.named_modules()
        if isinstance(module, nn.RNNBase)
        for name, parameter in module.named_parameters()
    }


def adamw(groups: Mapping[str, NamedParameters], config: OptimConfig) -> torch.optim.AdamW:
    """torch's AdamW (Loshchilov and Hutter 2019) over some groups, fused where the device supports it.

    Weight decay is decoupled and applies to matrices, and to gates where it is set for them. The state, two tensors
    per parameter, exists from the start, so it can be loaded.
    """
    factors = {"matrices": 1.0, "embeddings": config.embedding_lr, "vectors": config.vector_lr}
    rates = {**{group: config.lr * factor for group, factor in factors.items()}, "gates": config.gate_lr}
    decays = {"matrices": config.weight_decay, "gates": config.gate_weight_decay}
    parameters = [parameter for named in groups.values() for parameter in named.values()]
    optimizer = torch.optim.AdamW(
        [
            {"params": list(named.values()), "lr": rates[group], "weight_decay": decays.get(group, 0.0)}
            for group, named in groups.items()
            if named
        ],
        betas=config.betas,
        eps=config.eps,
        fused={parameter.device.type for parameter in parameters} <= {"cpu", "cuda"},
    )
    for parameter in parameters:
        optimizer.state[parameter] = {
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
            "step": torch.zeros((), device=parameter.device if parameter.is_cuda else "cpu"),
        }
    return optimizer


class Optimizer:
    """torch optimizers over the groups of one model, stepped together. Each `lr` at the start is a peak."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer], groups: Mapping[str, NamedParameters]):
        self.parameters = [parameter for named in groups.values() for parameter in named.values()]
        self._optimizers = optimizers
        self._peaks = [options["lr"] for options in self.param_groups]
        self._names: dict[Tensor, str] = {
            parameter: f"{group}/{name}" for group, named in groups.items() for name, parameter in named.items()
        }

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Parameters and options of all optimizers, as `torch.amp.GradScaler` reads them."""
        return [options for optimizer in self._optimizers for options in optimizer.param_groups]

    def set_lr_factor(self, factor: float) -> None:
        """Sets all learning rates of the next step: peak times `factor`."""
        for options, peak in zip(self.param_groups, self._peaks, strict=True):
            options["lr"] = peak * factor

    def step(self) -> None:
        """Updates every parameter from its gradient."""
        for optimizer in self._optimizers:
            optimizer.step()

    def zero_grad(self) -> None:
        """Drops all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        """All state by `group/parameter/field`, each with the shape of its parameter or a scalar; shares memory."""
        return {
            f"{self._names[parameter]}/{field}": tensor
            for optimizer in self._optimizers
            for parameter, fields in optimizer.state.items()
            for field, tensor in fields.items()
        }


def clip(parameters: Sequence[nn.Parameter], limit: float | None) -> Tensor:
    """Scales gradients in place to a joint norm of at most `limit`; returns the norm before, a scalar tensor.

    None clips nothing. A norm that is not finite makes the gradients unusable; callers check it.
    """
    norm: Tensor = get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
    if limit is not None:
        clip_grads_with_norm_(parameters, limit, norm)
    return norm


def build_adamw(model: nn.Module, config: OptimConfig) -> Optimizer:
    """AdamW for all groups."""
    groups = group_parameters(model)
    return Optimizer([adamw(groups, config)], groups)
