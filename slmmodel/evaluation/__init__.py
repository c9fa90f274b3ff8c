"""Evaluation: bits per byte that are proven right, their intervals, baselines and certificates.

Works on ids, byte lengths and a model's logits. Where text is needed (byte baselines), the caller brings its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmmodel.evaluation.bpb import score
    from slmmodel.evaluation.intervals import Interval, interval, units
    from slmmodel.evaluation.scores import Scores

__all__ = ["Interval", "Scores", "interval", "score", "units"]

_HOMES = {"Interval": "intervals", "Scores": "scores", "interval": "intervals", "score": "bpb", "units": "intervals"}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'slmmodel.evaluation' has no attribute {name!r}")
    value = getattr(import_module(f"slmmodel.evaluation.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
