"""Values of JSON in a corpus: those of `json`, and integers of any length.

Python converts as many digits as PYTHONINTMAXSTRDIGITS says; which records are malformed must not depend on it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_MAX_DIGITS = 640
"""Of an integer that Python always converts: no process can have a lower limit."""


@dataclass(frozen=True)
class LongInteger:
    """An integer as it is written, which is not converted."""

    digits: str

    def __str__(self) -> str:
        return self.digits


def _integer(digits: str) -> int | LongInteger:
    return int(digits) if len(digits) <= _MAX_DIGITS else LongInteger(digits)


def _unchanged(value: dict[str, Any]) -> dict[str, Any]:
    return value


DECODER = json.JSONDecoder(parse_int=_integer, object_hook=_unchanged)
"""One for all records: `json.loads` with `parse_int` makes one a call, which takes longer than a short record.

Without a function of Python for each object, the decoder hears no signal until a value has ended.
"""


def loads(text: str | bytes, *, strict: bool = True) -> Any:
    """As `json.loads`. Raises `ValueError`, `RecursionError`."""
    # A byte order mark has an error of its own there.
    if isinstance(text, str) and strict and not text.startswith("\ufeff"):
        return DECODER.decode(text)
    return json.loads(text, strict=strict, parse_int=_integer)
