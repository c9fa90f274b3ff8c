"""Parsing of untrusted JSON: nesting is limited before parsing, keys are unique, numbers are integers.

A fault is a `FaultError` whose text completes the caller's sentence ("it is not JSON: …"); the caller adds the name of
the file.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, NoReturn, cast

_BLOCK_BYTES = 1 << 20


class FaultError(Exception):
    """A fault in the content of a file whose name the caller adds."""


def parse_object(data: bytes, max_depth: int, *, allow_floats: bool = False) -> dict[str, Any]:
    """The JSON object in `data`. Raises `FaultError` with the reason."""
    depth = _depth(data)
    if depth > max_depth:
        raise FaultError(f"it nests {depth} deep, the limit is {max_depth}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FaultError(f"byte {error.start} is not UTF-8") from None
    try:
        document = json.loads(
            text,
            object_pairs_hook=_no_duplicates,
            parse_constant=_refuse_float,
            parse_float=float if allow_floats else _refuse_float,
        )
    except json.JSONDecodeError as error:
        cut = " (truncated?)" if error.pos >= len(text.rstrip()) else ""
        raise FaultError(f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}{cut}") from None
    except ValueError:
        raise FaultError("it holds a number of thousands of digits") from None
    if not isinstance(document, dict):
        raise FaultError("it is not one JSON object")
    return cast("dict[str, Any]", document)


def _depth(data: bytes) -> int:
    """The nesting depth of brackets outside strings; any number for data that is not JSON."""
    import numpy as np

    bare = re.sub(rb'"[^"\\]*(?:\\.[^"\\]*)*"', b"", data, flags=re.DOTALL)
    # In blocks, because the steps take eight times the memory of the text.
    depth = deepest = 0
    for start in range(0, len(bare), _BLOCK_BYTES):
        marks = np.frombuffer(bare, dtype=np.uint8)[start : start + _BLOCK_BYTES]
        opened = (marks == ord("[")) | (marks == ord("{"))
        closed = (marks == ord("]")) | (marks == ord("}"))
        depths = depth + np.cumsum(opened.astype(np.int8) - closed.astype(np.int8), dtype=np.int64)
        deepest, depth = max(deepest, int(depths.max())), int(depths[-1])
    return deepest


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise FaultError(f"one object has the key {twice[:80]!r} twice")
    return table


def _refuse_float(text: str) -> NoReturn:
    raise FaultError(f"it holds the number {text}; the format has integers only")
