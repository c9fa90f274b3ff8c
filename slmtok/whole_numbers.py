"""Judging whole numbers that callers hand over, before they reach the engine, whose integers have 32 or 64 bits.

Anything that Python takes for an index counts (`int`, numpy's integers); `bool` and `float` do not,
whatever their value.
"""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from slmtok.errors import InvalidOption, WrongType

U32 = (1 << 32) - 1
U64 = (1 << 64) - 1


def whole(name: str, value: SupportsIndex, least: int = 0, most: int = U64, *, option: bool = True) -> int:
    """`value` as an int from `least` to `most`. `option`: whether the command line has it too, under the same name.

    Raises `WrongType` for no whole number, `InvalidOption` for one out of range.
    """
    shown = "--" + name.replace("_", "-") if option else name
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None:
        likely = int(value) if isinstance(value, float) and value.is_integer() else max(least, 1)
        raise WrongType(
            f"{shown} must be a whole number, not {type(value).__name__} {value!r}",
            fix=f"{name}={likely}" if name.isidentifier() else f"{likely}, for instance",
            option=name,
        )
    if not least <= number <= most:
        raise InvalidOption(
            f"{shown} {number} is out of range",
            limit=f"{least} or more" if number < least else f"at most {most}",
            fix=f"{shown} {least}, or more" if number < least else f"{shown} {most}, or less",
            option=name,
            value=number,
        )
    return number
