"""AdamW (Loshchilov and Hutter 2019), torch's, fused where the device supports it: the default for every group.

It stores two tensors per parameter. Weight decay is decoupled and applies to matrices alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slmmodel.optim.optimizer import GROUPS, Named, Optimizer, split

if TYPE_CHECKING:
    from torch import Tensor, nn

    from slmmodel.config import OptimConfig

_FIELDS = ("exp_avg", "exp_avg_sq", "step")


def peak_lr(config: OptimConfig, group: str) -> float:
    """The learning rate of a group at factor 1."""
    if group == "gates":
        return config.gate_lr
    return config.lr * {"embeddings": config.embedding_lr, "vectors": config.vector_lr}.get(group, 1.0)


class AdamW:
    """An `UpdateRule`: `torch.optim.AdamW` over some groups. Its state exists from the start, so it can be loaded."""

    def __init__(self, groups: Mapping[str, Named], config: OptimConfig):
        import torch

        groups = {group: named for group, named in groups.items() if named}
        self._parameters = {
            f"{group}/{name}": parameter for group, named in groups.items() for name, parameter in named.items()
        }
        self._peaks = [peak_lr(config, group) for group in groups]
        self._adamw = torch.optim.AdamW(
            [
                {
                    "params": list(named.values()),
                    "lr": peak_lr(config, group),
                    "weight_decay": config.weight_decay if group == "matrices" else 0.0,
                }
                for group, named in groups.items()
            ],
            betas=config.betas,
            eps=config.eps,
            fused={parameter.device.type for parameter in self._parameters.values()} <= {"cpu", "cuda"},
        )
        for parameter in self._parameters.values():
            device = parameter.device if parameter.device.type == "cuda" else "cpu"
            self._adamw.state[parameter] = {
                "step": torch.zeros((), dtype=torch.float32, device=device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }

    def set(self, factor: float) -> None:
        """See `UpdateRule`."""
        for group, peak in zip(self._adamw.param_groups, self._peaks, strict=True):
            group["lr"] = peak * factor

    def step(self) -> None:
        """See `UpdateRule`."""
        self._adamw.step()

    def state(self) -> dict[str, Tensor]:
        """See `UpdateRule`."""
        return {
            f"{name}/{field}": self._adamw.state[parameter][field]
            for name, parameter in self._parameters.items()
            for field in _FIELDS
        }

    def load(self, state: Mapping[str, Tensor]) -> None:
        """See `UpdateRule`."""
        for key, tensor in self.state().items():
            tensor.copy_(state[key])


def build(model: nn.Module, config: OptimConfig) -> Optimizer:
    """AdamW for all groups."""
    groups = split(model)
    return Optimizer({"adamw": AdamW(groups, config)}, groups, dict.fromkeys(GROUPS, "adamw"), config.lr)
