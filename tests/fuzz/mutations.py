"""Edits of the structure of parsed files: each field in turn, then several fields at random.

An edit is a JSON value, so that a finding is one line of `findings.jsonl`: `["set", [key, ...], value]`,
`["drop", [key, ...]]`, `["twice", [key, ...]]` or `["add", [key, ...], name, value]`.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

Edit = list[Any]

VALUES: dict[str, list[Any]] = {
    "other type": [None, True, 7, 0.5, "x", [], {}, [None], {"x": 1}],
    "huge": [1 << 31, (1 << 53) + 1, 1 << 63, 1 << 80, 1e308, "a" * 3000],
    "negative": [0, -1, -(1 << 70), -0.5],
    "nested": [[[[[[]]]]], {"": {"": {}}}, eval("[" * 60 + "]" * 60)],
    "unicode": ["", "\0", "\ud800", "\u202e\u0085", "\U0001f600", "ab" * 32, "1e3", "1_0"],
    "nan": [float("nan"), float("inf"), -float("inf")],
    "path": ["../x", "/dev/zero", "..", "a/b", "C:\\x", "~", "/dev/stdin"],
}
"""What takes the place of a value, by kind."""
NAMES = ["extra", "", "sha256", "__class__", "\ud800"]
_MANY = 4
"""Items of a longer list or table that are tried: the first two, one in the middle, and the last."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value inside a parsed file; of many items that are alike only some."""
    inner = list(enumerate(value)) if isinstance(value, list) else []
    if isinstance(value, dict):
        inner = list(value.items())
    if len(inner) > 16:
        inner = [inner[0], inner[1], inner[len(inner) // 2], inner[-1]]
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def every_edit(content: Any) -> Iterator[Edit]:
    """Each place dropped, repeated, replaced by each value; each table with each unknown key."""
    for name in NAMES:
        yield ["add", [], name, 1]
    for place in places(content):
        path = list(place)
        yield ["drop", path]
        if isinstance(path[-1], int):
            yield ["twice", path]
        if isinstance(value_at(content, path), dict):
            yield from (["add", path, name, 1] for name in NAMES)
        yield from (["set", path, value] for values in VALUES.values() for value in values)


def some_edits(content: Any, chance: random.Random) -> list[Edit]:
    """Two or three edits at random; they may meet in one place."""
    found = [list(place) for place in places(content)]
    values = [value for kind in VALUES.values() for value in kind]
    edits: list[Edit] = []
    for _ in range(chance.randint(2, 3)):
        path = chance.choice(found)
        other = value_at(content, chance.choice(found))
        edits.append(
            chance.choice(
                (
                    ["drop", path],
                    ["twice", path],
                    ["add", path, chance.choice(NAMES), chance.choice(values)],
                    ["set", path, chance.choice(values)],
                    ["set", path, chance.choice(values)],
                    ["set", path, copy.deepcopy(other)],
                )
            )
        )
    return edits


def edited(content: Any, edits: list[Edit]) -> Any:
    """A copy with the edits; one whose place is gone changes nothing."""
    content = copy.deepcopy(content)
    for kind, path, *values in edits:
        try:
            holder = value_at(content, path if kind == "add" else path[:-1])
            if kind == "add":
                holder.setdefault(values[0], values[1])
            elif kind == "drop":
                del holder[path[-1]]
            elif kind == "twice":
                holder.insert(path[-1], copy.deepcopy(holder[path[-1]]))
            else:
                holder[path[-1]] = copy.deepcopy(values[0])
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
    return content


def value_at(content: Any, path: list[Any]) -> Any:
    """The value at a path."""
    for key in path:
        content = content[key]
    return content


def keys_of(value: Any) -> Iterator[str]:
    """All keys of a parsed file."""
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_of(item)
