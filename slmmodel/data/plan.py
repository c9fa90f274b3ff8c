"""`make_plan`: a plan by the name of its strategy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from slmmodel.data.order import crop_offset as offset_of
from slmmodel.data.order import document_order
from slmmodel.data.packs import PACKS
from slmmodel.data.spans import Ints, Plan, pair_counts
from slmmodel.data.windows import WINDOWS
from slmmodel.errors import InvalidPlan, UnknownName, suggestion

CROP_OFFSETS = ("random", "fixed")
STRATEGIES: dict[str, Callable[..., Plan]] = {**PACKS, **WINDOWS}
_GIVEN = {"pairs", "seq_len", "order", "offset", "options"}
"""Parameters that follow from data, seed and epoch."""


def make_plan(
    name: str,
    lengths: Ints,
    seq_len: int,
    *,
    seed: int = 0,
    epoch: int = 0,
    shuffle: bool = True,
    crop_offset: str = "fixed",
    **options: Any,
) -> Plan:
    """The sequences of one epoch over documents with these numbers of ids (delimiters included).

    `shuffle` permutes documents by seed and epoch. `crop_offset="random"` shifts the cuts of `concat` by another
    offset in each epoch; `fixed` counts from the first pair, as scoring does. `options` are those of the strategy.
    Raises `UnknownName`, `InvalidPlan`, `DocumentTooLong`.
    """
    known = options_of(name)
    check_crop_offset(crop_offset)
    for option in options:
        if option not in known - _GIVEN:
            raise InvalidPlan(
                f"the strategy {name!r} has no option {option!r}",
                limit=f"options: {', '.join(sorted(known - _GIVEN)) or 'none'}",
                fix="leave it out",
            )
    pairs = pair_counts(lengths)
    order = document_order(len(pairs), seed, epoch) if shuffle and len(pairs) > 1 else None
    if "offset" in known and crop_offset == "random" and seq_len > 0:
        options["offset"] = offset_of(seq_len, seed, epoch)
    return STRATEGIES[name](pairs, seq_len, order=order, **options)


def options_of(name: str) -> set[str]:
    """The parameters of a strategy. Raises `UnknownName`."""
    if name not in STRATEGIES:
        near = suggestion(name, STRATEGIES)
        raise UnknownName(
            f"unknown strategy {name!r}" + (f"; did you mean {near!r}?" if near else ""),
            limit=f"strategies: {', '.join(STRATEGIES)}",
            fix=f"--set data.pack={near or 'concat'}",
            name=name,
        )
    return set(inspect.signature(STRATEGIES[name]).parameters)


def check_crop_offset(crop_offset: str) -> None:
    """Raises `InvalidPlan` for an unknown way to place cuts."""
    if crop_offset not in CROP_OFFSETS:
        raise InvalidPlan(
            f"crop_offset is {crop_offset!r}",
            limit=f"one of {', '.join(CROP_OFFSETS)}",
            fix="--set data.crop_offset=random",
        )
