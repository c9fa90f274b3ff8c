"""AdamW (Loshchilov and Hutter, 2019): the default; any shape, any group. Decay is decoupled and meant for matrices
alone.

Price: two tensors of state a parameter. The arithmetic is torch's, fused into one pass where the device has that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slmmodel.optim.base import Optimizer, Part
from slmmodel.optim.groups import GROUPS, Named, split

if TYPE_CHECKING:
    from torch import Tensor, nn

    from slmmodel.config import OptimConfig

_FIELDS = ("exp_avg", "exp_avg_sq", "step")


def rate(settings: OptimConfig, group: str) -> float:
    """The peak rate of a group."""
    if group == "gates":
        return settings.gate_lr
    return settings.lr * {"embeddings": settings.embedding_lr, "vectors": settings.vector_lr}.get(group, 1.0)


class AdamWPart:
    """torch's AdamW over some groups, with state by name that exists from the start."""

    def __init__(self, groups: Mapping[str, Named], settings: OptimConfig):
        import torch

        self._names = {
            f"{group}/{name}": parameter for group, named in groups.items() for name, parameter in named.items()
        }
        self._peaks = [rate(settings, group) for group, named in groups.items() if named]
        self._inner = torch.optim.AdamW(
            [
                {
                    "params": list(named.values()),
                    "lr": rate(settings, group),
                    "weight_decay": settings.weight_decay if group == "matrices" else 0.0,
                }
                for group, named in groups.items()
                if named
            ],
            betas=settings.betas,
            eps=settings.eps,
            fused=_fused(self._names),
        )
        for parameter in self._names.values():
            device = parameter.device if parameter.device.type == "cuda" else "cpu"
            self._inner.state[parameter] = {
                "step": torch.zeros((), dtype=torch.float32, device=device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }

    def set(self, factor: float) -> None:
        """See `Part`."""
        for group, peak in zip(self._inner.param_groups, self._peaks, strict=True):
            group["lr"] = peak * factor

    def step(self) -> None:
        """See `Part`."""
        self._inner.step()

    def fields(self) -> dict[str, Tensor]:
        """See `Part`."""
        return {
            f"{name}/{field}": self._inner.state[parameter][field]
            for name, parameter in self._names.items()
            for field in _FIELDS
        }

    def load(self, fields: Mapping[str, Tensor]) -> None:
        """See `Part`."""
        for key, tensor in self.fields().items():
            tensor.copy_(fields[key])


def _fused(names: Mapping[str, nn.Parameter]) -> bool | None:
    """Whether the one-pass update exists for these parameters; None leaves the choice to torch."""
    kinds = {parameter.device.type for parameter in names.values()}
    floats = all(parameter.is_floating_point() for parameter in names.values())
    return True if floats and kinds <= {"cpu", "cuda"} and kinds else None


def describe(groups: Mapping[str, Named], rules: Mapping[str, str]) -> dict[str, Any]:
    """Groups in words: rule, tensors, parameters."""
    return {
        group: {"rule": rules[group], "tensors": len(named), "parameters": sum(p.numel() for p in named.values())}
        for group, named in groups.items()
        if named
    }


def build(model: nn.Module, settings: OptimConfig) -> Optimizer:
    """AdamW for all groups."""
    groups = split(model)
    parts: list[Part] = [AdamWPart(groups, settings)]
    parameters = [parameter for group in GROUPS for parameter in groups[group].values()]
    return Optimizer(parts, parameters, describe(groups, dict.fromkeys(GROUPS, "adamw")), settings.lr)
