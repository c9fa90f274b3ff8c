"""Judging whole numbers that callers hand over, before they reach the engine, whose integers have 32 or 64 bits.

Anything that Python takes for an index counts (`int`, numpy's integers); `bool` and `float` do not,
whatever their value.
"""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from slmtok.errors import OptionError, WrongType

U32 = (1 << 32) - 1
U64 = (1 << 64) - 1


def whole(
    name: str, value: SupportsIndex, least: int = 0, most: int = U64, *, option: bool = True, example: int | None = None
) -> int:
    """`value` as an int from `least` to `most`.

    `option`: whether `name` is an argument, which the errors then spell `name=`. `example`: a value that is right.

    Raises `WrongType` for no whole number, `OptionError` for one out of range.
    """
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None:
        likely = _meant(value)
        if likely is None or not least <= likely <= most:
            likely = example or max(least, 1)
        raise WrongType(
            f"{name + '=' if option else name} must be a whole number, not {type(value).__name__} {value!r}",
            fix=f"{name}={likely}" if name.isidentifier() else f"{likely}, for instance",
            option=name,
        )
    if not least <= number <= most:
        raise OptionError(
            f"{name}{'=' if option else ' '}{number} is out of range",
            limit=f"{least} or more" if number < least else f"at most {most}",
            fix=f"{name}{'=' if option else ' '}" + (f"{least}, or more" if number < least else f"{most}, or less"),
            option=name,
            value=number,
        )
    return number


def _meant(value: object) -> int | None:
    """The number that a float or a text spells, if it is whole."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20:
        return int(value)
    return None
