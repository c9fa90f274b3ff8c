"""`make_plan`: a plan by the name of its strategy."""

from __future__ import annotations

from typing import Any

from slmmodel.data.order import crop_offset as offset_of
from slmmodel.data.order import document_order
from slmmodel.data.packs import PACKS
from slmmodel.data.spans import Ints, Plan, check_choice, pair_counts
from slmmodel.data.windows import WINDOWS
from slmmodel.errors import unknown_name

STRATEGIES: dict[str, type[Plan]] = {**PACKS, **WINDOWS}


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
    Raises `UnknownName`, `InvalidConfig`.
    """
    strategy = strategy_of(name)
    check_choice("crop_offset", crop_offset)
    pairs = pair_counts(lengths)
    order = document_order(len(pairs), seed, epoch) if shuffle and len(pairs) > 1 else None
    is_shifted = strategy.has_offset and crop_offset == "random" and seq_len > 0
    offset = offset_of(seq_len, seed, epoch) if is_shifted else 0
    return strategy(pairs, seq_len, options, order=order, offset=offset)


def strategy_of(name: str) -> type[Plan]:
    """The strategy of that name. Raises `UnknownName`."""
    if name not in STRATEGIES:
        raise unknown_name("strategy", name, STRATEGIES, "--set data.pack={}")
    return STRATEGIES[name]
