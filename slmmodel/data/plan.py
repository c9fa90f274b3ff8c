"""`make_plan`: a plan by its name, from the registries of packs and windows."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.order import cut_offset, document_order
from slmmodel.data.packs import PACKS
from slmmodel.data.spans import Plan, pair_counts
from slmmodel.data.windows import WINDOWS
from slmmodel.errors import InvalidPlan, UnknownName, suggestion

CUTS = ("moved", "fixed")
_DECIDED = {"pairs", "context", "order", "offset", "options"}
"""What the data, the seed and the epoch decide."""


def make_plan(
    name: str,
    lengths: NDArray[np.int64],
    context: int,
    *,
    seed: int = 0,
    epoch: int = 0,
    shuffle: bool = True,
    cuts: str = "fixed",
    **options: Any,
) -> Plan:
    """The rows of one epoch of documents with these numbers of ids (delimiters included).

    `shuffle` takes the documents in the order of this seed and epoch; otherwise as they lie. `moved` cuts lie at
    another place in each epoch, in strategies that cut wherever a row is full; `fixed` ones are counted from the first
    pair, which is how texts are scored. `options` are those of the strategy. Raises `UnknownName`, `InvalidPlan`,
    `DocumentTooLong`.
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
    known = set(inspect.signature(choices[name]).parameters) - _DECIDED
    check_cuts(cuts)
    for option in options:
        if option not in known:
            raise InvalidPlan(
                f"the strategy {name!r} has no option {option!r}",
                limit=f"options: {', '.join(sorted(known)) or 'none'}",
                fix="leave it out",
            )
    pairs = pair_counts(lengths)
    order = document_order(len(pairs), seed, epoch) if shuffle and len(pairs) > 1 else None
    if moves_cuts(name) and cuts == "moved" and context > 0:
        options["offset"] = cut_offset(context, seed, epoch)
    return choices[name](pairs, context, order=order, **options)


def moves_cuts(name: str) -> bool:
    """Whether a strategy can cut elsewhere in each epoch."""
    make = {**PACKS, **WINDOWS}.get(name)
    return make is not None and "offset" in inspect.signature(make).parameters


def check_cuts(cuts: str) -> None:
    """Raises `InvalidPlan` for a place of cuts that does not exist."""
    if cuts not in CUTS:
        raise InvalidPlan(f"cuts cannot be {cuts!r}", limit=f"cuts: {', '.join(CUTS)}", fix="take one of these")
