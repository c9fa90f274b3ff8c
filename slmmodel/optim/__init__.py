"""Optimizers, parameter groups and learning-rate schedules.

An optimizer is one file, one line in `OPTIMIZERS`, and its name in `slmmodel.config_values`.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from slmmodel.config import OptimConfig
from slmmodel.errors import WrongType
from slmmodel.optim import muon
from slmmodel.optim.optimizer import Optimizer, build_adamw, clip
from slmmodel.optim.schedules import resolve

__all__ = ["OPTIMIZERS", "Optimizer", "build", "clip", "resolve"]

OPTIMIZERS: dict[str, Callable[[nn.Module, OptimConfig], Optimizer]] = {
    "adamw": build_adamw,
    "muon": muon.build,
}


def build(model: nn.Module, config: OptimConfig) -> Optimizer:
    """The optimizer that `config.name` names, over all trainable parameters.

    Raises `WrongType` for what is no module or no configuration.
    """
    if not isinstance(model, nn.Module):
        limit = "a torch.nn.Module, whose parameters it groups by name"
        raise WrongType(f"model is of type {type(model).__name__}", limit=limit, fix="build(model, config)")
    if not isinstance(config, OptimConfig):
        fix = "config=OptimConfig(name='adamw'), of slmmodel.config"
        raise WrongType(f"config is of type {type(config).__name__}", limit="an OptimConfig", fix=fix)
    return OPTIMIZERS[config.name](model, config)
