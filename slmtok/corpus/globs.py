"""Globs over paths: `*` and `?` stay within a folder, `**` crosses folders, `[...]` is a set of characters.

A glob matches a path, or the end of one from a folder on: `*.min.js` matches in every folder, `src/**/*.py` below any
`src`. A `/` at its beginning ties it to the beginning of the path.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache


def matches(path: str, glob: str) -> bool:
    """Whether `glob` matches `path`, or the end of it from one of its folders on."""
    return _compiled(glob).fullmatch(path.replace(os.sep, "/").removeprefix("./")) is not None


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str]:
    head = "" if glob.startswith("/") else "(?:.*/)?"
    return re.compile(head + _translated(glob.removeprefix("./")), re.DOTALL)


def _translated(glob: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(glob):
        if glob.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            parts.append(".*")
            at += 2
        elif glob[at] == "*":
            parts.append("[^/]*")
            at += 1
        elif glob[at] == "?":
            parts.append("[^/]")
            at += 1
        else:
            end = _set_end(glob, at)
            parts.append(_set(glob[at + 1 : end]) if end else re.escape(glob[at]))
            at = end + 1 if end else at + 1
    return "".join(parts)


def _set_end(glob: str, at: int) -> int:
    """Where the set of characters that begins at `at` ends, 0 where none begins. A `]` that comes first is in it."""
    if glob[at] != "[":
        return 0
    first = at + 2 if glob[at + 1 : at + 2] in ("!", "^") else at + 1
    return max(glob.find("]", first + 1), 0)


def _set(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    body = inside[1:] if negated else inside
    body = re.sub(r"([\\\[\]^&~|])", r"\\\1", body)
    return f"(?!/)[{'^' if negated else ''}{body}]"
