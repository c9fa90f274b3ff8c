"""Optimizers, parameter groups and learning-rate schedules. An optimizer is one file and one line in `OPTIMIZERS`."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from slmmodel.config import OptimConfig
from slmmodel.errors import Argument, WrongType, unknown_name
from slmmodel.optim import muon, schedules
from slmmodel.optim.optimizer import Optimizer, build_adamw, clip
from slmmodel.optim.schedules import resolve

__all__ = ["OPTIMIZERS", "Optimizer", "build", "check", "clip", "resolve"]

OPTIMIZERS: dict[str, Callable[[nn.Module, OptimConfig], Optimizer]] = {
    "adamw": build_adamw,
    "muon": muon.build,
}


def check(config: OptimConfig) -> None:
    """Raises `UnknownName` for an optimizer, or a schedule, that does not exist, and `WrongType`."""
    if not isinstance(config, OptimConfig):
        fix = "config=OptimConfig(name='adamw'), of slmmodel.config"
        raise WrongType(f"config is of type {type(config).__name__}", limit="an OptimConfig", fix=fix)
    if config.name not in OPTIMIZERS:
        raise unknown_name("optim.name", config.name, OPTIMIZERS, Argument("optim.name"), option="optim.name")
    schedules.check(config.schedule)


def build(model: nn.Module, config: OptimConfig) -> Optimizer:
    """The optimizer that `config.name` names, over all trainable parameters.

    Raises `WrongType` for what is no module, and what `check` raises.
    """
    if not isinstance(model, nn.Module):
        limit = "a torch.nn.Module, whose parameters it groups by name"
        raise WrongType(f"model is of type {type(model).__name__}", limit=limit, fix="build(model, config)")
    check(config)
    return OPTIMIZERS[config.name](model, config)
