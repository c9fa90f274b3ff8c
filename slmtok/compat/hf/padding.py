"""Filling the rows of all columns to one length, on either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slmtok.errors import InvalidOption

if TYPE_CHECKING:
    from slmtok.compat.hf.plan import Plan

FILL = {"attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1, "offset_mapping": (0, 0)}
"""What padding is filled with, by column; `input_ids` take the pad id."""


def target_length(lengths: Sequence[int], plan: Plan) -> int:
    """The length that rows are filled to; longer rows stay as they are."""
    width = plan.max_length if plan.padding == "max_length" and plan.max_length is not None else max(lengths, default=0)
    return -(-width // plan.multiple) * plan.multiple if plan.multiple else width


def padded(column: Sequence[Sequence[Any]], width: int, fill: Any, side: str) -> list[Sequence[Any]]:
    """Each row filled to `width`."""
    if side == "left":
        return [[*[fill] * (width - len(row)), *row] if len(row) < width else row for row in column]
    return [[*row, *[fill] * (width - len(row))] if len(row) < width else row for row in column]


def pad_columns(
    columns: Mapping[str, Any], plan: Plan, pad_id: int | None, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """All columns of rows filled; others (`length`, the mapping) as they are.

    more: what further columns are filled with. Raises `InvalidOption` where there is no pad.
    """
    if plan.padding is None:
        return dict(columns)
    if pad_id is None:
        raise InvalidOption(
            "there is no pad token to pad with",
            limit="a special with the role pad, or as_hf(pad=…)",
            fix="as_hf(tok, pad='eos')",
            option="padding",
        )
    width = target_length([len(row) for row in columns["input_ids"]], plan)
    fills = {**FILL, "input_ids": pad_id, **(more or {})}
    return {
        name: padded(column, width, fills[name], plan.padding_side) if name in fills else column
        for name, column in columns.items()
    }
