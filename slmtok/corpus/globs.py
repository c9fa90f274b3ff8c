"""Globs over the paths of a corpus, matched in time linear in the length of the path.

`*` and `?` stay within a folder, `**` crosses folders, `[...]` is a set of characters. A glob matches a path, or the
end of one from a folder on: `*.min.js` matches in every folder, `src/**/*.py` below any `src`. A leading `/` anchors it
at the start of the path.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TypeAlias

_Item: TypeAlias = "str | re.Pattern[str]"
_FOLDERS = "**/"
"""No folder or any number of them."""
_CROSSING, _STAR = "**", "*"
_REPEATED = (_FOLDERS, _CROSSING, _STAR)
_NOT_SLASH = re.compile(r"[^/]")
_MAX_TRANSITIONS = 1 << 16


def matches(path: str, glob: str) -> bool:
    """Whether `glob` matches `path`, or the end of it from one of its folders on."""
    return _automaton(glob).matches(path.replace(os.sep, "/").removeprefix("./"))


@lru_cache(maxsize=256)
def _automaton(glob: str) -> _Automaton:
    items = _parse(glob.removeprefix("./"))
    return _Automaton(items if glob.startswith("/") else [_FOLDERS, *items])


class _Automaton:
    """A deterministic automaton whose transitions are computed at first use.

    A state is the set of the items that can come next; the number of items stands for the end of the glob.
    """

    def __init__(self, items: list[_Item]) -> None:
        self._items = items
        self._start = frozenset(self._entered(0))
        self._transitions: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def matches(self, path: str) -> bool:
        """Whether the glob matches the whole path."""
        state, transitions = self._start, self._transitions
        for char in path:
            following = transitions.get((state, char))
            if following is None:
                if len(transitions) >= _MAX_TRANSITIONS:
                    transitions.clear()
                following = transitions[state, char] = self._next(state, char)
            state = following
        return len(self._items) in state

    def _entered(self, index: int) -> list[int]:
        """The items that can come next where item `index` begins: it, and those behind items that match nothing."""
        last = index
        while last < len(self._items) and self._items[last] in _REPEATED:
            last += 1
        return list(range(index, last + 1))

    def _next(self, state: frozenset[int], char: str) -> frozenset[int]:
        following: set[int] = set()
        for index in state - {len(self._items)}:
            item = self._items[index]
            if item == _FOLDERS:
                # Within a folder the item cannot end: it ends behind a slash.
                following.add(index)
                following.update(self._entered(index + 1) if char == "/" else ())
            elif item == _CROSSING or (item == _STAR and char != "/"):
                following.update(self._entered(index))
            elif item != _STAR and (item == char if isinstance(item, str) else item.fullmatch(char)):
                following.update(self._entered(index + 1))
        return frozenset(following)


def _parse(glob: str) -> list[_Item]:
    items: list[_Item] = []
    at = 0
    while at < len(glob):
        repeated = next((item for item in _REPEATED if glob.startswith(item, at)), None)
        end = _set_end(glob, at)
        if repeated:
            items.append(repeated)
            at += len(repeated)
        elif glob[at] == "?":
            items.append(_NOT_SLASH)
            at += 1
        else:
            items.append(_set(glob[at + 1 : end]) if end else glob[at])
            at = end + 1 if end else at + 1
    return items


def _set_end(glob: str, at: int) -> int:
    """Index of the `]` that ends the set of characters at `at`, 0 if none begins there. A leading `]` belongs to it."""
    if glob[at] != "[":
        return 0
    first = at + 2 if glob[at + 1 : at + 2] in ("!", "^") else at + 1
    return max(glob.find("]", first + 1), 0)


def _set(inside: str) -> re.Pattern[str]:
    negated = inside[:1] in ("!", "^")
    body = inside[1:] if negated else inside
    body = re.sub(r"([\\\[\]^&~|])", r"\\\1", body)
    return re.compile(f"(?!/)[{'^' if negated else ''}{body}]", re.DOTALL)
