"""What `padding=`, `truncation=`, `max_length=` and `stride=` of a call mean together, as a frozen plan."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from slmtok.checks import check_int
from slmtok.errors import InvalidOption

UNLIMITED = int(1e30)
"""`model_max_length` of a tokenizer that has none: Hugging Face's own number."""
_NO_LIMIT = int(1e20)
_PADDINGS = ("longest", "max_length", "do_not_pad")
_TRUNCATIONS = ("longest_first", "only_first", "only_second", "do_not_truncate")
_SIDES = ("right", "left")


@dataclass(frozen=True)
class Plan:
    """How rows are cut and filled. `truncation` and `padding` are None where nothing is to be done."""

    truncation: str | None = None
    padding: str | None = None
    max_length: int | None = None
    stride: int = 0
    multiple: int | None = None
    truncation_side: str = "right"
    padding_side: str = "right"


def side(value: object, option: str) -> str:
    """`value`, if it is a side. Raises `InvalidOption`."""
    return _one_of(value, _SIDES, option)


def make_plan(
    *,
    padding: bool | str = False,
    truncation: bool | str | None = None,
    max_length: int | None = None,
    stride: int = 0,
    pad_to_multiple_of: int | None = None,
    padding_side: str = "right",
    truncation_side: str = "right",
    model_max_length: int = UNLIMITED,
) -> Plan:
    """The plan of one call, by Hugging Face's rules. Raises `InvalidOption` for values that contradict each other."""
    max_length = None if max_length is None else check_int("max_length", max_length, 0)
    multiple = None if pad_to_multiple_of is None else check_int("pad_to_multiple_of", pad_to_multiple_of, 1)
    if max_length is not None and padding is False and truncation is None:
        warnings.warn(
            f"max_length={max_length} alone truncates; say truncation=True to mean it, truncation=False to keep all",
            stacklevel=4,
        )
        truncation = True
    how_to_pad = _padding(padding)
    how_to_cut = _truncation(truncation)
    if max_length is None:
        limit = None if model_max_length > _NO_LIMIT else model_max_length
        how_to_cut = how_to_cut if limit is not None else None
        how_to_pad = None if how_to_pad == "max_length" and limit is None else how_to_pad
        max_length = limit if how_to_cut or how_to_pad == "max_length" else None
    if how_to_cut and how_to_pad and multiple and max_length is not None and max_length % multiple:
        raise InvalidOption(
            f"max_length={max_length} is no multiple of pad_to_multiple_of={multiple}",
            limit="with truncation and padding both, a multiple",
            fix=f"max_length={-(-max_length // multiple) * multiple}",
            option="max_length",
        )
    return Plan(
        truncation=how_to_cut,
        padding=how_to_pad,
        max_length=max_length,
        stride=check_int("stride", stride, 0),
        multiple=multiple,
        truncation_side=truncation_side,
        padding_side=side(padding_side, "padding_side"),
    )


def _padding(value: object) -> str | None:
    if value is True:
        return "longest"
    if value is False or value is None:
        return None
    found = _one_of(value, _PADDINGS, "padding")
    return None if found == "do_not_pad" else found


def _truncation(value: object) -> str | None:
    if value is True:
        return "longest_first"
    if value is False or value is None:
        return None
    found = _one_of(value, _TRUNCATIONS, "truncation")
    return None if found == "do_not_truncate" else found


def _one_of(value: object, choices: tuple[str, ...], option: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise InvalidOption(
            f"{option}={value!r} is unknown",
            limit=f"True, False, {', '.join(choices)}" if option in ("padding", "truncation") else ", ".join(choices),
            fix=f"{option}={choices[0]!r}",
            option=option,
        )
    return value
