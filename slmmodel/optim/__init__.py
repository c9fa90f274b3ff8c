"""Optimizers, their parameter groups, and schedules. An optimizer is one file and one line in `OPTIMIZERS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from slmmodel.errors import UnknownName, suggestion
from slmmodel.optim import adamw, muon
from slmmodel.optim.base import Optimizer, clip
from slmmodel.optim.schedules import SCHEDULES, Schedule, resolve

if TYPE_CHECKING:
    from torch import nn

    from slmmodel.config import OptimConfig

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "Optimizer",
    "Schedule",
    "build",
    "clip",
    "resolve",
]

OPTIMIZERS: dict[str, Callable[[nn.Module, OptimConfig], Optimizer]] = {
    "adamw": adamw.build,
    "muon": muon.build,
}


def build(model: nn.Module, settings: OptimConfig) -> Optimizer:
    """The optimizer that `settings.name` says, over all trainable parameters. Raises `UnknownName`."""
    if settings.name not in OPTIMIZERS:
        meant = suggestion(settings.name, OPTIMIZERS)
        raise UnknownName(
            f"optim.name {settings.name!r} does not exist" + (f"; did you mean {meant!r}?" if meant else ""),
            limit=f"one of {', '.join(OPTIMIZERS)}",
            fix=f"--set optim.name={meant or 'adamw'}",
            option="optim.name",
        )
    return OPTIMIZERS[settings.name](model, settings)
