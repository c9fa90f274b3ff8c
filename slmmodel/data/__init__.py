"""Data for models: sources of ids, plans that cut them into rows, the order of rows, and the batches made of them.

Sees ids and vocabulary metadata, never text and never a model. A document with ids `l_0 .. l_n` is a range of pairs
(input `l_i`, target `l_{i+1}`); a plan is a pure function from a row number to spans of pairs; nothing is materialised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmmodel.data.assemble import Assembler
    from slmmodel.data.batch import Batch
    from slmmodel.data.loader import Cursor, Loader
    from slmmodel.data.opening import open_source
    from slmmodel.data.plan import make_plan
    from slmmodel.data.spans import Plan, PlanStats, Span

__all__ = ["Assembler", "Batch", "Cursor", "Loader", "Plan", "PlanStats", "Span", "make_plan", "open_source"]

_HOMES = {
    "Assembler": "assemble",
    "Batch": "batch",
    "Cursor": "loader",
    "Loader": "loader",
    "Plan": "spans",
    "PlanStats": "spans",
    "Span": "spans",
    "make_plan": "plan",
    "open_source": "opening",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'slmmodel.data' has no attribute {name!r}")
    value = getattr(import_module(f"slmmodel.data.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
