"""Optimizers, parameter groups and learning-rate schedules. An optimizer is one file and one line in `OPTIMIZERS`."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from slmmodel.config import OptimConfig
from slmmodel.errors import Argument, unknown_name
from slmmodel.optim import muon
from slmmodel.optim.optimizer import Optimizer, build_adamw, clip
from slmmodel.optim.schedules import resolve

__all__ = ["OPTIMIZERS", "Optimizer", "build", "clip", "resolve"]

OPTIMIZERS: dict[str, Callable[[nn.Module, OptimConfig], Optimizer]] = {
    "adamw": build_adamw,
    "muon": muon.build,
}


def build(model: nn.Module, config: OptimConfig) -> Optimizer:
    """The optimizer that `config.name` names, over all trainable parameters. Raises `UnknownName`."""
    if config.name not in OPTIMIZERS:
        raise unknown_name("optim.name", config.name, OPTIMIZERS, Argument("optim.name"), option="optim.name")
    return OPTIMIZERS[config.name](model, config)
