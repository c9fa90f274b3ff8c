"""Commands that write files again through a program, for notes and errors: one file, or all of a few folders."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import compression
from slmtok.corpus.unpacking import DECOMPRESS
from slmtok.files import free_name

_MAX_GLOBS = 4
"""Globs up to which one command writes all files."""


class Rewrite(NamedTuple):
    """command: writes what is named instead. named: that, as a word of a shell. more: files that are not written."""

    command: str
    named: str
    more: int = 0


def rewrite(paths: Sequence[str], among: Sequence[str], program: str, ending: str) -> Rewrite | None:
    """How a program, which reads stdin and writes stdout, makes files from others; None for stdin.

    paths: of the files. among: the files of the corpus; a glob that matches others of these is not used. ending: of the
    names that are made.
    """
    if paths[0] == STDIN:
        return None
    globs = _globs_of(paths, among) if len(paths) > 1 else []
    if globs:
        suffix = _suffix_of(paths[0])
        target = f'"${{each%{shlex.quote(suffix)}}}"{ending}'
        written = _through(program, paths[0], '"$each"', target)
        command = f"for each in {' '.join(globs)}; do {written}; done"
        made = [each.removesuffix(shlex.quote(suffix)) + ending for each in globs]
        return Rewrite(command, " ".join(made))
    path = paths[0]
    target = shlex.quote(free_name(f"{path.removesuffix(_suffix_of(path))}{ending}"))
    return Rewrite(_through(program, path, shlex.quote(path), target), target, len(paths) - 1)


def _through(program: str, path: str, source: str, target: str) -> str:
    """The command that sends a source, a word of a shell, through a program; path: an example of it."""
    decompress = DECOMPRESS.get(compression(path))
    return f"{decompress} {source} | {program} > {target}" if decompress else f"{program} < {source} > {target}"


def _suffix_of(path: str) -> str:
    """The suffix of a name, with that of its compression."""
    bare, packed = path, ""
    if compression(path) != "plain":
        packed = Path(path).suffix
        bare = path.removesuffix(packed)
    return Path(bare).suffix + packed


def _globs_of(paths: Sequence[str], among: Sequence[str]) -> list[str]:
    """The globs that match these files and none beside them, of one suffix; [] where there are none, or too many."""
    suffix = _suffix_of(paths[0])
    if not suffix or any(_suffix_of(path) != suffix for path in paths):
        return []
    folders = {*_folders_of(paths)}
    if len(folders) > _MAX_GLOBS:
        return []
    kept = {*paths}
    others = (path for path in among if path not in kept and _suffix_of(path) == suffix)
    if not folders.isdisjoint(_folders_of(others)):
        return []
    # Files that were named apart have others beside them.
    below = (glob.glob(f"*{glob.escape(suffix)}", root_dir=folder or None) for folder in folders)  # noqa: PTH207
    if sum(map(len, below)) > len(kept):
        return []
    return [f"{shlex.quote(folder) + '/' if folder else ''}*{shlex.quote(suffix)}" for folder in sorted(folders)]


def _folders_of(paths: Sequence[str] | Iterator[str]) -> Iterator[str]:
    return (path.rpartition("/")[0] for path in paths)
