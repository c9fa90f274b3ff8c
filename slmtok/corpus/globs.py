"""Globs over the paths of a corpus, matched without exponential backtracking.

`*` and `?` stay within a folder, `**` crosses folders, `[...]` is a set of characters. `**/` at the start of a name
matches no folder, too. A glob matches a path, or the end of one from a folder on: `*.min.js` matches in every folder,
`src/**/*.py` below any `src`. A leading `/` anchors it at the start of the path.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count
from pathlib import Path

_FOLDERS, _CROSSING, _STAR = "**/", "**", "*"
_TOKEN = re.compile(r"(?<![^/])\*\*/|\*\*+|\[(?:[!^].|[^!^])[^]]*\]|.", re.DOTALL)
_SHORTEST = {"": "", _FOLDERS: "(?:.*?/)??", _CROSSING: ".*?"}
_LONGEST = {"": "", _FOLDERS: "(?:.*/)?", _CROSSING: ".*"}


def matches(path: str, glob: str) -> bool:
    """Whether `glob` matches `path`, or the end of it from one of its folders on."""
    return _compile(glob).fullmatch(path.replace(os.sep, "/").removeprefix("./")) is not None


def glob_of_folder(glob: str, paths: Iterable[str]) -> str | None:
    """The glob for the files below a folder that `glob` names; None where it names no folder of these files."""
    direct, below = f"{glob.rstrip('/')}/*", f"{glob.rstrip('/')}/**"
    held = [path for path in paths if matches(path, below)]
    return None if not held else direct if all(matches(path, direct) for path in held) else below


def glob_of_suffix(glob: str, paths: Iterable[str]) -> str | None:
    """The glob for the files of a suffix, such as `.txt`, `txt` or a regex of it; None where none of these has it."""
    meant = f"*.{glob.removeprefix('.*').removesuffix('$').replace(chr(92), '').removeprefix('.')}"
    return meant if "/" not in glob and any(matches(path, meant) for path in paths) else None


_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAX_LISTED = 64
"""Globs that one text lists; braces beside braces list exponentially many."""


def listed_globs(text: str) -> list[str]:
    """The globs that a text lists, with commas or in the braces of a shell: `*.{js,css}`, `*.js,*.css`."""
    listed, at = [text], 0
    while at < len(listed) < _MAX_LISTED:
        if found := _BRACES.search(glob := listed[at]):
            listed[at : at + 1] = [glob[: found.start()] + part + glob[found.end() :] for part in found[1].split(",")]
        else:
            at += 1
    return list(dict.fromkeys(part.strip() for each in listed for part in each.split(",")))


def expand(pattern: str) -> list[str]:
    """The paths that a glob matches, as `glob.glob(pattern, recursive=True)` gives them, each once and in no order.

    Every folder is listed once for each part of the glob, where that of Python may list it exponentially often. Hidden
    files match no `*`. `**` follows links to folders, but not to one that the path is in. Raises `OSError` for a folder
    that cannot be listed.
    """
    root = re.match(r"([a-zA-Z]:)?[/\\]*" if os.name == "nt" else "/*", pattern)
    start = root[0] if root else ""
    parts = [part for part in re.split(r"[/\\]" if os.name == "nt" else "/", pattern[len(start) :]) if part]
    found = {start}
    for at, part in enumerate(parts):
        is_last = at == len(parts) - 1
        if part == _CROSSING:
            found = {path for folder in found for path in paths_below(folder, with_files=is_last)}
        elif not glob.has_magic(part):
            found = {path for folder in found if os.path.lexists(path := os.path.join(folder, part))}  # noqa: PTH118
        else:
            is_match = re.compile(fnmatch.translate(part)).match
            found = {
                os.path.join(folder, entry.name)  # noqa: PTH118
                for folder in found
                for entry in _entries(folder, hidden=part.startswith("."))
                if is_match(entry.name) and (is_last or entry.is_dir())
            }
    return [*found]


def paths_below(folder: str, *, with_files: bool = True) -> Iterator[str]:
    """A folder, and the folders in it at any depth; with the files in them. Hidden ones are left out.

    It follows links to folders, but not to one that the path is in.
    """
    # A stack, not recursion: folders may nest deeper than the limit of Python's stack.
    folders: list[tuple[str, frozenset[tuple[int, int]]]] = [(folder, frozenset())]
    while folders:
        path, linked = folders.pop()
        yield path
        for entry in _entries(path, hidden=False):
            name = os.path.join(path, entry.name)  # noqa: PTH118
            # A link to itself is no folder, which `entry.is_dir` raises for.
            if not (os.path.isdir(name) if entry.is_symlink() else entry.is_dir()):  # noqa: PTH112
                if with_files:
                    yield name
                continue
            if not entry.is_symlink():
                folders.append((name, linked))
                continue
            status = os.stat(name)  # noqa: PTH116
            key = status.st_dev, status.st_ino
            if key not in linked and not _is_in(path, key):
                folders.append((name, linked | {key}))


def _is_in(path: str, key: tuple[int, int]) -> bool:
    """Whether a path is the folder of this device and inode, or is in it."""
    place = Path(path).absolute()
    statuses = (os.stat(each) for each in (place, *place.parents))  # noqa: PTH116
    return any((status.st_dev, status.st_ino) == key for status in statuses)


def _entries(folder: str, *, hidden: bool) -> Iterator[os.DirEntry[str]]:
    """What a folder holds; nothing for a file."""
    try:
        with os.scandir(folder or os.curdir) as entries:
            yield from (entry for entry in entries if hidden or not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return


@lru_cache(maxsize=256)
def _compile(glob: str) -> re.Pattern[str]:
    """The regex of a glob.

    Between two `**`, and between two `*` of a name, the match that ends first is as good as any, so each is an atomic
    group, which is never matched in another way. What follows the last `**` or `*` ends where the path or name ends.
    """
    # Parts begin at each `**`; a part has names, and a name the regexes between its stars.
    parts, gaps, numbers = [[[""]]], [""], count()
    for token in _TOKEN.findall(("" if glob.startswith("/") else _FOLDERS) + glob.removeprefix("./")):
        if token.startswith(_CROSSING):
            gaps.append(token if token == _FOLDERS else _CROSSING)
            parts.append([[""]])
        elif token == "/":
            parts[-1].append([""])
        elif token == _STAR:
            parts[-1][-1].append("")
        else:
            parts[-1][-1][-1] += _character(token)

    def atomic(regex: str) -> str:
        # Python 3.10 has no atomic groups; a lookahead is one.
        name = f"g{next(numbers)}"
        return regex and f"(?=(?P<{name}>{regex}))(?P={name})"

    def name_regex(between: list[str], *, to_end: bool) -> str:
        first, *others = between
        last = f"[^/]*{others.pop()}" if others and to_end else ""
        return first + "".join(atomic(f"[^/]*?{each}") for each in others) + last

    def part_regex(names: list[list[str]], *, to_end: bool) -> str:
        return "/".join([*(name_regex(each, to_end=True) for each in names[:-1]), name_regex(names[-1], to_end=to_end)])

    last, gap = part_regex(parts.pop(), to_end=True), _LONGEST[gaps.pop()]
    before = (atomic(_SHORTEST[gap] + part_regex(part, to_end=False)) for gap, part in zip(gaps, parts, strict=True))
    return re.compile("".join(before) + gap + last, re.DOTALL)


def _character(token: str) -> str:
    """The regex of one character of a name."""
    if token == "?":
        return "[^/]"
    if len(token) == 1:
        return re.escape(token)
    sign = "^" if token[1] in "!^" else ""
    # A range that runs backwards has no characters.
    ranges = re.sub("(.)-(.)", lambda each: each[0] if each[1] <= each[2] else "", token[1 + len(sign) : -1])
    body = re.sub(r"([\\\[\]^&~|])", r"\\\1", ranges)
    return f"(?!/)[{sign}{body}]" if body else "[^/]" if sign else "(?!)"
