"""Checks of parsed JSON: what each file of slmtok may hold, written as a value.

A `Check` takes a value and its place ("shards[3].docs") and raises `FaultError` naming the place, the value and what
belongs there. Tables refuse unknown keys, so a misspelled key is never ignored.
"""

from __future__ import annotations

import math
import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from reprlib import Repr
from typing import Any, TypeAlias

from slmtok.checks import U64
from slmtok.specials import has_lone_surrogate
from slmtok.strict_json import FaultError

Check: TypeAlias = Callable[[Any, str], None]

MAX_COUNT = (1 << 63) - 1
"""Counts are stored in 64 bits, and numpy's sums are signed."""
_HEX_DIGEST = re.compile(r"[0-9a-f]{64}")
_FILE_NAME = re.compile(r"(?!\.\.?$)[^/\\\0]+", re.DOTALL)
_SHOWN_CHARS = 40
_SHORT = Repr()
"""`repr` of the first items alone: a value may have millions."""
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = _SHOWN_CHARS


def shown(value: object) -> str:
    """A value in an error: the beginning of its `repr`."""
    text = _SHORT.repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _require(holds: bool, value: object, where: str, expected: str) -> None:
    if not holds:
        raise FaultError(f"{where or 'its content'} is {shown(value)}, expected {expected}")


def integer(low: int = 0, high: int = MAX_COUNT) -> Check:
    """An integer from `low` to `high`; true and false are none."""

    def check(value: Any, where: str) -> None:
        expected = f"an integer from {low} to {high}" if high != MAX_COUNT else f"an integer of at least {low}"
        _require(type(value) is int and low <= value <= high, value, where, expected)

    return check


def number(value: Any, where: str) -> None:
    """A finite number."""
    _require(type(value) in (int, float) and abs(value) <= MAX_COUNT and math.isfinite(value), value, where, "a number")


def finite(value: Any, where: str) -> None:
    """A finite number of any size, such as the perplexity of a model that diverged."""
    _require(type(value) in (int, float) and math.isfinite(value), value, where, "a finite number")


def relative_path(value: Any, where: str) -> None:
    """The path of a file below the folder of the one that names it, with `/`."""
    text(value, where)
    parts = value.split("/")
    _require(all(map(_FILE_NAME.fullmatch, parts)), value, where, "the path of a file below its folder")


def number_text(value: Any, where: str) -> None:
    """A finite number as a string, which keeps its digits."""
    found = math.nan
    if isinstance(value, str):
        with suppress(ValueError):
            found = float(value)
    _require(math.isfinite(found), value, where, "a number in a string")


def text(value: Any, where: str) -> None:
    """A string that UTF-8 can hold: no lone surrogates."""
    _require(isinstance(value, str), value, where, "a string")
    if has_lone_surrogate(value):
        raise FaultError(f"{where} is {shown(value)}, which holds half of a surrogate pair")


def filled_text(value: Any, where: str) -> None:
    """A string of one character at least."""
    text(value, where)
    _require(bool(value), value, where, "a string that is not empty")


def file_name(value: Any, where: str) -> None:
    """The name of a file in the folder of the one that names it."""
    text(value, where)
    _require(_FILE_NAME.fullmatch(value) is not None, value, where, "the name of a file, without a folder")


def boolean(value: Any, where: str) -> None:
    """True or false."""
    _require(isinstance(value, bool), value, where, "true or false")


def digest(value: Any, where: str) -> None:
    """A SHA-256: 64 lowercase hexadecimal digits."""
    _require(isinstance(value, str) and _HEX_DIGEST.fullmatch(value) is not None, value, where, "64 hexadecimal digits")


def base64(value: Any, where: str) -> None:
    """Base64 in its one canonical spelling."""
    data = None
    if isinstance(value, str):
        with suppress(ValueError):
            data = a2b_base64(value)
    valid = data is not None and b2a_base64(data, newline=False).decode() == value
    _require(valid, value, where, "base64")


def plain(value: Any, where: str) -> None:
    """Any JSON value, its strings as in `text`."""
    if isinstance(value, str):
        text(value, where)
    elif isinstance(value, list):
        array(plain)(value, where)
    elif isinstance(value, dict):
        mapping(plain)(value, where)


def setting(value: Any, where: str) -> None:
    """The value of an option in a file: null, true, false, a string, a list of strings, or an integer of 64 bits."""
    if isinstance(value, list):
        array(text)(value, where)
    elif isinstance(value, str):
        text(value, where)
    else:
        valid = value is None or (isinstance(value, int) and abs(value) <= U64)
        _require(valid, value, where, "null, true, false, an integer, a string or a list of strings")


def choice(*values: str | int | None) -> Check:
    """One of these values, of the same type."""

    def check(value: Any, where: str) -> None:
        known = any(type(value) is type(one) and value == one for one in values)
        _require(known, value, where, " or ".join(map(repr, values)))

    return check


def either(expected: str, *checks: Check) -> Check:
    """What one of the checks allows; `expected` names it."""

    def check(value: Any, where: str) -> None:
        for allows in checks:
            with suppress(FaultError):
                allows(value, where)
                return
        _require(False, value, where, expected)

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


def mapping(inner: Check, *, key: Check = text, is_filled: bool = False) -> Check:
    """An object with any keys that `key` allows, whose values `inner` allows; with `is_filled` at least one."""

    def check(value: Any, where: str) -> None:
        _require(isinstance(value, dict), value, where, "an object")
        _require(bool(value) or not is_filled, value, where, "an object with content")
        for name, item in value.items():
            key(name, f"a key of {where or 'its content'}")
            inner(item, f"{where}.{name}" if where else name)

    return check


def table(
    required: Mapping[str, Check], optional: Mapping[str, Check] | None = None, *, is_open: bool = False
) -> Check:
    """An object with exactly these keys; the optional ones may be absent. `is_open`: others are allowed, too."""
    known = {**required, **(optional or {})}

    def check(value: Any, where: str) -> None:
        _require(isinstance(value, dict), value, where, "an object")
        prefix = f"{where}." if where else ""
        missing = next((key for key in required if key not in value), None)
        if missing is not None:
            raise FaultError(f"the key '{prefix}{missing}' is missing")
        unknown = next((key for key in value if key not in known), None)
        if unknown is not None and not is_open:
            raise FaultError(f"it has the unknown key {shown(prefix + unknown)}")
        for key, check_item in known.items():
            if key in value:
                check_item(value[key], prefix + key)

    return check
