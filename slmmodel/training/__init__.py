"""Training: the loop, budgets, micro-batches, ranks, checkpoints, signals, guards and metrics.

`run` trains from settings to a bundle, `plan` says what it would do, `branch` begins a new run at a saved state. They
are imported when they are asked for, and torch with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmmodel.training.data import Data, open_data
    from slmmodel.training.launch import branch, plan, run
    from slmmodel.training.result import RunResult

__all__ = ["Data", "RunResult", "branch", "open_data", "plan", "run"]

_HOMES = {
    "Data": "slmmodel.training.data",
    "RunResult": "slmmodel.training.result",
    "branch": "slmmodel.training.launch",
    "open_data": "slmmodel.training.data",
    "plan": "slmmodel.training.launch",
    "run": "slmmodel.training.launch",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'slmmodel.training' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
