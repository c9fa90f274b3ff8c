"""Reading JSON files of unknown origin: regular files of a bounded size, unique keys, numbers that JSON has.

A fault is a `ValueError` whose text continues a sentence that begins with the name of the file.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

MAX_JSON_BYTES = 256 << 20
MAX_DEPTH = 32


def read_bounded(path: Path, max_bytes: int = MAX_JSON_BYTES) -> bytes:
    """The bytes of a regular file. Raises `OSError`, and `ValueError` for a pipe, a device, or a larger file."""
    with open(path, "rb", opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("is not a regular file")
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"has more than {max_bytes:,} bytes")
    return data


def parse_object(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`. Raises `ValueError`."""
    try:
        found = json.loads(data, object_pairs_hook=_unique, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nests too deep") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError("is not a JSON object")
    level: list[Any] = [found]
    for _ in range(MAX_DEPTH):
        level = [inner for value in level for inner in (value.values() if isinstance(value, dict) else value)]
        level = [value for value in level if isinstance(value, (dict, list))]
    if level:
        raise ValueError(f"nests more than {MAX_DEPTH} deep")
    return found


def read_object(path: Path, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The JSON object in a file. Raises what `read_bounded` and `parse_object` raise."""
    return parse_object(read_bounded(path, max_bytes))


def _open_without_waiting(path: str, flags: int) -> int:
    """Opening a FIFO would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"has the key {key!r} twice in one object")
        table[key] = value
    return table


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"holds {text}, which is not JSON")
