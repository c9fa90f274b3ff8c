"""`make_packing`: a packing by its name, the option `data.pack`."""

from __future__ import annotations

from typing import Any

from slmmodel.calls import explains_calls
from slmmodel.checks import check_type
from slmmodel.data.order import crop_offset as offset_of
from slmmodel.data.order import document_order
from slmmodel.data.packing import Ints, Packing, check_choice, count_inputs
from slmmodel.data.packs import PACKS
from slmmodel.data.windows import WINDOWS
from slmmodel.errors import Argument, WrongType, unknown_name
from slmmodel.foreign_names import FOREIGN_VALUES

STRATEGIES: dict[str, type[Packing]] = {**PACKS, **WINDOWS}


def option_names() -> list[str]:
    """The options of all strategies that `data.options` takes; the others are settings of their own."""
    names = dict.fromkeys(name for strategy in STRATEGIES.values() for name in strategy.OPTIONS)
    return [name for name in names if name not in ("loss_on", "batch_size")]


@explains_calls
def make_packing(
    name: str,
    lengths: Ints,
    seq_len: int,
    *,
    seed: int = 0,
    epoch: int = 0,
    shuffle: bool = True,
    crop_offset: str = "fixed",
    unscored: Ints | None = None,
    **options: Any,
) -> Packing:
    """The sequences of one epoch over documents with these numbers of ids (delimiters included): int64 [n_docs].

    Of offsets, which begin the documents, the numbers of ids are `np.diff(offsets)`.

    `unscored` [n_docs]: of each, the inputs from the first on whose target is not scored.
    `shuffle` permutes documents by seed and epoch. `crop_offset="random"` shifts the cuts of `concat` by another
    offset in each epoch; `fixed` counts from the first input, as scoring does. `options` are those of the strategy.
    Raises `UnknownName`, `InvalidConfig`.
    """
    check_type("name", name, str, "make_packing('concat', lengths, seq_len)")
    if name not in STRATEGIES:
        raise unknown_name("strategy", name, STRATEGIES, Argument("name"))
    strategy = strategy_of(name)
    check_choice("crop_offset", crop_offset)
    if isinstance(lengths, int) and not isinstance(seq_len, int):
        raise WrongType(
            f"lengths is the int {lengths}, and seq_len is {type(seq_len).__name__}",
            limit="make_packing(name, lengths, seq_len)",
            fix=f"make_packing({name!r}, lengths, {lengths}), with the numbers of ids second",
        )
    n_inputs = count_inputs(lengths)
    order = document_order(len(n_inputs), seed, epoch) if shuffle and len(n_inputs) > 1 else None
    is_shifted = strategy.has_offset and crop_offset == "random" and seq_len > 0
    offset = offset_of(seq_len, seed, epoch) if is_shifted else 0
    return strategy(n_inputs, seq_len, options, order=order, offset=offset, unscored=unscored)


def strategy_of(name: str) -> type[Packing]:
    """The strategy of that name. Raises `UnknownName`, `WrongType`."""
    check_type("pack", name, str, "pack='concat'")
    if name not in STRATEGIES:
        known = FOREIGN_VALUES["data.pack"].get(name.lower())
        error = unknown_name("strategy", name, STRATEGIES, Argument("data.pack"), nearest=known, option="data.pack")
        if name.lower().startswith(("slid", "window")):
            stream, single = (Argument("data.pack", each) for each in ("stream", "right_pad_once"))
            error.fix = (stream, " for windows over all documents end to end, or ", single, " over each document")
        raise error
    return STRATEGIES[name]
