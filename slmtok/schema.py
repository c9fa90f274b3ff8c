"""Checks of parsed JSON: what each file of slmtok may hold, written as a value.

A `Check` takes a value and its place ("shards[3].docs") and raises `FaultError` naming the place, the value and what
belongs there. Tables refuse unknown keys, so a misspelled key is never ignored.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from slmtok.strict_json import FaultError, parse_object

Check: TypeAlias = Callable[[Any, str], None]

MAX_COUNT = (1 << 63) - 1
"""Counts are stored in 64 bits, and numpy's sums are signed."""
_HEX_DIGEST = re.compile(r"[0-9a-f]{64}")
_SHOWN_CHARS = 40


def _require(holds: bool, value: object, where: str, expected: str) -> None:
    if not holds:
        text = repr(value)
        shown = text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
        raise FaultError(f"{where or 'its content'} is {shown}, expected {expected}")


def integer(low: int = 0, high: int = MAX_COUNT) -> Check:
    """An integer from `low` to `high`; true and false are none."""

    def check(value: Any, where: str) -> None:
        expected = f"an integer from {low} to {high}" if high != MAX_COUNT else f"an integer of at least {low}"
        _require(type(value) is int and low <= value <= high, value, where, expected)

    return check


def number(value: Any, where: str) -> None:
    """A finite number."""
    _require(type(value) in (int, float) and abs(value) <= MAX_COUNT and math.isfinite(value), value, where, "a number")


def text(value: Any, where: str) -> None:
    """A string that UTF-8 can hold: no lone surrogates."""
    valid = isinstance(value, str) and not any("\ud800" <= char <= "\udfff" for char in value)
    _require(valid, value, where, "a string")


def boolean(value: Any, where: str) -> None:
    """True or false."""
    _require(isinstance(value, bool), value, where, "true or false")


def digest(value: Any, where: str) -> None:
    """A SHA-256: 64 lowercase hexadecimal digits."""
    _require(isinstance(value, str) and _HEX_DIGEST.fullmatch(value) is not None, value, where, "64 hexadecimal digits")


def plain(value: Any, where: str) -> None:
    """Any JSON value."""


def choice(*values: str | int) -> Check:
    """One of these values, of the same type."""

    def check(value: Any, where: str) -> None:
        known = any(type(value) is type(one) and value == one for one in values)
        _require(known, value, where, " or ".join(map(repr, values)))

    return check


def nullable(inner: Check) -> Check:
    """Null, or what `inner` allows."""

    def check(value: Any, where: str) -> None:
        if value is not None:
            inner(value, where)

    return check


def array(inner: Check, *, length: int | None = None) -> Check:
    """A list, of exactly `length` items where it is given."""

    def check(value: Any, where: str) -> None:
        expected = "a list" if length is None else f"a list of {length} items"
        _require(isinstance(value, list) and length in (None, len(value)), value, where, expected)
        for index, item in enumerate(value):
            inner(item, f"{where}[{index}]")

    return check


def mapping(inner: Check) -> Check:
    """An object with any keys, whose values `inner` allows."""

    def check(value: Any, where: str) -> None:
        _require(isinstance(value, dict), value, where, "an object")
        for key, item in value.items():
            text(key, f"a key of {where}")
            inner(item, f"{where}.{key}" if where else key)

    return check


def table(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with exactly these keys; the optional ones may be absent."""
    known = {**required, **(optional or {})}

    def check(value: Any, where: str) -> None:
        _require(isinstance(value, dict), value, where, "an object")
        prefix = f"{where}." if where else ""
        missing = next((key for key in required if key not in value), None)
        if missing is not None:
            raise FaultError(f"the key '{prefix}{missing}' is missing")
        unknown = next((key for key in value if key not in known), None)
        if unknown is not None:
            raise FaultError(f"it has the unknown key {prefix + unknown!r}")
        for key, item in value.items():
            known[key](item, prefix + key)

    return check


def read_object(path: Path, check: Check, *, max_bytes: int, max_depth: int = 8) -> dict[str, Any]:
    """The JSON object in a regular file of at most `max_bytes`. Raises `FaultError`, and `OSError` for one that is
    missing or unreadable."""
    with open(path, "rb", opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FaultError("it is not a regular file")
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise FaultError(f"it has more than {max_bytes:,} bytes, the limit of such a file")
    content = parse_object(data, max_depth, allow_floats=True)
    check(content, "")
    return content


def _open_without_waiting(path: str, flags: int) -> int:
    """Opening a FIFO would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
