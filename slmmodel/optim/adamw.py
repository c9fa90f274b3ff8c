"""AdamW (Loshchilov and Hutter 2019), torch's, fused where the device supports it: the default for every group.

It stores two tensors per parameter. Weight decay is decoupled and applies to matrices alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import nn

from slmmodel.optim.optimizer import Named, Optimizer, split

if TYPE_CHECKING:
    from slmmodel.config import OptimConfig


def adamw(groups: Mapping[str, Named], config: OptimConfig) -> torch.optim.AdamW:
    """AdamW over some groups. Its state exists from the start, so it can be loaded."""
    peak_lr = {
        "matrices": config.lr,
        "embeddings": config.lr * config.embedding_lr,
        "vectors": config.lr * config.vector_lr,
    }
    parameters = [parameter for named in groups.values() for parameter in named.values()]
    optimizer = torch.optim.AdamW(
        [
            {
                "params": list(named.values()),
                "lr": peak_lr[group],
                "weight_decay": config.weight_decay if group == "matrices" else 0.0,
            }
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


def build(model: nn.Module, config: OptimConfig) -> Optimizer:
    """AdamW for all groups."""
    groups = split(model)
    return Optimizer([adamw(groups, config)], groups, config.lr)
