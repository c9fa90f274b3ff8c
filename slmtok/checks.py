"""Checks of arguments, made before a value reaches the engine. Each error says what the caller may have meant."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from slmtok.errors import OptionError, Setting, WrongType

U32 = (1 << 32) - 1
U64 = (1 << 64) - 1


def check_int(name: str, value: SupportsIndex, min: int = 0, max: int = U64, *, example: int | None = None) -> int:
    """`value` as an int from `min` to `max`; `name` is the argument, `example` a value that is right.

    Takes whatever Python takes for an index (`int`, numpy's integers), but neither `bool` nor `float`.

    Raises `WrongType` for anything but an integer, `OptionError` for one out of range.
    """
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None:
        meant = _integer_meant(value)
        if meant is None or not min <= meant <= max:
            meant = example or (min if min > 1 else 1)
        raise WrongType(
            (Setting(name), f" must be an integer, not {type(value).__name__} {value!r}"),
            fix=(Setting(name, meant),),
            option=name,
        )
    if not min <= number <= max:
        low = number < min
        raise OptionError(
            (Setting(name, number), " is out of range"),
            limit=f"{min} or more" if low else f"at most {max}",
            fix=(Setting(name, min), ", or more") if low else (Setting(name, max), ", or less"),
            option=name,
            value=number,
        )
    return number


def _integer_meant(value: object) -> int | None:
    """The integer that a float or a string spells."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20:
        return int(value)
    return None
