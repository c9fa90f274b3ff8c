"""`make_plan`: a plan by its name, from the registries of packs and windows."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.order import document_order
from slmmodel.data.packs import PACKS
from slmmodel.data.spans import Plan, pair_counts
from slmmodel.data.windows import WINDOWS
from slmmodel.errors import InvalidPlan, UnknownName, suggestion


def make_plan(
    name: str,
    lengths: NDArray[np.int64],
    context: int,
    *,
    seed: int = 0,
    epoch: int = 0,
    shuffle: bool = True,
    **options: Any,
) -> Plan:
    """The rows of one epoch of documents with these numbers of ids (delimiters included).

    `shuffle` takes the documents in the order of this seed and epoch; otherwise as they lie. `options` are those of the
    strategy. Raises `UnknownName`, `InvalidPlan`, `DocumentTooLong`.
    """
    choices = {**PACKS, **WINDOWS}
    if name not in choices:
        near = suggestion(name, choices)
        raise UnknownName(
            f"there is no strategy {name!r}",
            limit=f"strategies: {', '.join(choices)}",
            fix=f"did you mean {near!r}?" if near else "take one of these",
            name=name,
        )
    known = inspect.signature(choices[name]).parameters
    for option in options:
        if option not in known:
            raise InvalidPlan(
                f"the strategy {name!r} has no option {option!r}",
                limit=f"options: {', '.join(sorted(set(known) - {'pairs', 'context', 'order', 'options'})) or 'none'}",
                fix="leave it out",
            )
    pairs = pair_counts(lengths)
    order = document_order(len(pairs), seed, epoch) if shuffle and len(pairs) > 1 else None
    return choices[name](pairs, context, order=order, **options)
