"""Parsing of untrusted JSON: nesting is limited before parsing, keys are unique, numbers are integers.

A fault is a `FaultError` whose text completes the caller's sentence ("it is not JSON: …"); the caller adds the name of
the file.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from typing import Any, NoReturn, cast

_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class FaultError(Exception):
    """A fault in the content of a file whose name the caller adds."""


def parse_object(data: bytes, max_depth: int, *, allow_floats: bool = False) -> dict[str, Any]:
    """The JSON object in `data`. Raises `FaultError` with the reason."""
    if data.startswith(BOM_UTF8):
        raise FaultError("it begins with a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FaultError(f"byte {error.start} is not UTF-8") from None
    if _nests_deeper(data, max_depth) and (deep := _too_deep(data, max_depth)) is not None:
        raise FaultError(f"it nests more than {max_depth} deep{_key_before(data, deep)}")
    try:
        document = json.loads(
            text,
            object_pairs_hook=_no_duplicates,
            parse_constant=_refuse_float,
            parse_float=float if allow_floats else _refuse_float,
        )
    except json.JSONDecodeError as error:
        cut = " (truncated?)" if error.pos >= len(text.rstrip()) else ""
        fault = error.msg.removesuffix(" at")
        raise FaultError(f"it is not JSON: {fault} at line {error.lineno}, column {error.colno}{cut}") from None
    except ValueError:
        raise FaultError(
            f"it holds a number of thousands of digits{_key_before(data, _find(data, b'[0-9]{4300}'))}"
        ) from None
    except _FloatError as error:
        text = str(error)
        place = _key_before(data, _find(data, rb"(?<![0-9.])" + re.escape(text.encode())))
        raise FaultError(f"it holds the number {text[:40]}{place}; the format has integers only") from None
    if not isinstance(document, dict):
        raise FaultError("it is not one JSON object")
    return cast("dict[str, Any]", document)


def _nests_deeper(data: bytes, limit: int) -> bool:
    """Whether brackets outside strings nest deeper than `limit`; for data that is not JSON it may say so too.

    Each pass removes the innermost pairs. Brackets that stay belong to deeper levels, or are never closed.
    """
    brackets = _STRING.sub(b"", data).translate(_AS_SQUARE, _NO_BRACKETS)
    for _ in range(limit):
        brackets = brackets.replace(b"[]", b"")
    return b"[" in brackets


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise FaultError(f"one object has the key {twice[:80]!r} twice")
    return table


class _FloatError(Exception):
    """A number that is no integer, where the format has none."""


def _refuse_float(text: str) -> NoReturn:
    raise _FloatError(text)


# --- the place of a fault, searched for only once there is one --------------------------------------------------------

_LAST_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:[^:]*\Z', re.DOTALL)


def _without_strings(data: bytes) -> bytes:
    """The same length with blanks in place of strings."""
    return _STRING.sub(lambda string: b" " * len(string[0]), data)


def _find(data: bytes, pattern: bytes) -> int:
    match = re.search(pattern, _without_strings(data))
    return match.start() if match else 0


def _too_deep(data: bytes, max_depth: int) -> int | None:
    """Where the nesting first exceeds `max_depth`; None where it does not."""
    depth = 0
    for bracket in re.finditer(rb"[\[\]{}]", _without_strings(data)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > max_depth:
            return bracket.start()
    return None


def _key_before(data: bytes, offset: int) -> str:
    """The last key before a place, as words to append; empty if there is none."""
    key = _LAST_KEY.search(data, 0, offset)
    return f", in {key[1][:40].decode('utf-8', 'replace')!r}" if key else ""
