"""Commands that write files again through a program, for notes and errors: one file, or all of a few folders.

Programs read and write UTF-8; a command converts a file in another encoding before them.
"""

from __future__ import annotations

import glob
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, count, islice
from pathlib import Path
from typing import NamedTuple

from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import UTF_8, bare_suffix, compression
from slmtok.corpus.unpacking import DECOMPRESS
from slmtok.errors import Setting
from slmtok.files import free_name
from slmtok.text_encodings import text_codec

_MAX_GLOBS = 4
"""Globs up to which one command writes all files."""
_MAX_CONVERTED = 4
"""Files that are converted by commands of their own."""


class Source(NamedTuple):
    """A file of a corpus, and the encoding in which it is read."""

    path: str
    encoding: str = UTF_8


class Rewrite(NamedTuple):
    """command: writes what is named instead. named: that, as a word of a shell. more: files that are not written."""

    command: str
    named: str
    more: int = 0


def rewrite(
    paths: Sequence[str], among: Sequence[str], program: str, ending: str, encoding: str = UTF_8
) -> Rewrite | None:
    """How a program, which reads stdin and writes stdout, makes files from others; None for stdin.

    paths: of the files. among: the files of the corpus; a glob that matches others of these is not used. ending: of the
    names that are made. encoding: of the files.
    """
    if paths[0] == STDIN:
        return None
    globs = _globs_of(paths, among) if len(paths) > 1 else []
    if globs:
        suffix = _common_suffix(paths)
        ending = _free_ending(globs, suffix, ending)
        target = f'"${{each%{shlex.quote(suffix)}}}"{ending}' if suffix else f'"$each"{ending}'
        written = _through(program, Source(paths[0], encoding), '"$each"', target)
        command = f"for each in {' '.join(globs)}; do {written}; done"
        made = [each.removesuffix(_quoted(suffix)) + ending for each in globs]
        return Rewrite(command, " ".join(made))
    if below := _rewrite_below(paths, program, ending, encoding):
        return below
    path = paths[0]
    target = shlex.quote(free_name(f"{path.removesuffix(_suffix_of(path))}{ending}"))
    return Rewrite(through(program, Source(path, encoding), target), target, len(paths) - 1)


def _rewrite_below(paths: Sequence[str], program: str, ending: str, encoding: str) -> Rewrite | None:
    """The same for files in many folders, which are all files of their suffix below one; None for other files."""
    suffix = _suffix_of(paths[0])
    root = os.path.commonpath([path.rpartition("/")[0] for path in paths])
    if not suffix or root == "/" or len(paths) < 2 or any("\n" in path for path in paths):
        return None
    found = list(islice(_files_below(root or ".", suffix), len(paths) + 1))
    if {*map(os.path.normpath, found)} != {*map(os.path.normpath, paths)}:
        return None
    ending = next(each for each in _endings_like(ending) if next(_files_below(root or ".", each), None) is None)
    target = f'"${{each%{shlex.quote(suffix)}}}"{ending}'
    written = _through(program, Source(paths[0], encoding), '"$each"', target)
    # All are listed before one is made.
    listed = f"find {shlex.quote(root or '.')} -type f -name {shlex.quote(f'*{glob.escape(suffix)}')} | sort"
    named = shlex.quote(f"{glob.escape(root) + '/' if root else ''}**/*{ending}")
    return Rewrite(f"{listed} | while IFS= read -r each; do {written}; done", named)


def _files_below(folder: str, ending: str) -> Iterator[str]:
    """The files below a folder whose names have an ending, hidden ones too, as `find` lists them."""
    for root, _, names in os.walk(folder):
        yield from (os.path.join(root, name) for name in names if name.endswith(ending))  # noqa: PTH118


def _free_ending(globs: Sequence[str], suffix: str, ending: str) -> str:
    """An ending like this one for the names that are made of those of some globs, which no file there has."""
    folders = ["".join(shlex.split(each.removesuffix(f"*{_quoted(suffix)}"))) for each in globs]
    return next(
        each
        for each in _endings_like(ending)
        if not any(glob.glob(f"{glob.escape(folder)}*{glob.escape(each)}") for folder in folders)  # noqa: PTH207
    )


def _endings_like(ending: str) -> Iterator[str]:
    """An ending, and numbered ones for names that exist with it."""
    stem, kind = os.path.splitext(ending)  # noqa: PTH122
    return chain([ending], (f"{stem}-{number}{kind}" for number in count(2)))


def through(program: str, source: Source, target: str) -> str:
    """The command that sends a file through a program; target: a word of a shell."""
    return _through(program, source, shlex.quote(source.path), target)


def remedy_through(program: str, source: Source, target: str) -> tuple[str | Setting, ...]:
    """What to do about a file, or stdin, that a program makes into what is meant; target: a word of a shell."""
    if source.path == STDIN:
        return f"pipe it through {piped(program, source.encoding)}", *without_encoding(source.encoding, ", ")
    return f"{through(program, source, target)} # and name it", *without_encoding(source.encoding)


def _through(program: str, source: Source, word: str, target: str) -> str:
    """The same for `word` of a shell, of which `source` is an example."""
    decompress = DECOMPRESS.get(compression(source.path))
    first, *rest = _steps(program, source.encoding)
    first = f"{decompress} {word} | {first}" if decompress else f"{first} < {word}"
    return f"{' | '.join([first, *rest])} > {target}"


def piped(program: str, encoding: str) -> str:
    """A program to which text in `encoding` is sent."""
    return " | ".join(_steps(program, encoding))


def to_utf_8(paths: Sequence[str], among: Sequence[str], encoding: str) -> tuple[str | Setting, ...]:
    """What to do about files in an encoding among others of a corpus, which are not in it: convert the first of them.

    among: the files of the corpus.
    """
    paths = paths[:_MAX_CONVERTED]
    program = decoder(encoding)
    made = [free_name(f"{path.removesuffix(_suffix_of(path))}-utf-8{bare_suffix(path)}") for path in paths]
    lines = (through(program, Source(path), shlex.quote(target)) for path, target in zip(paths, made, strict=True))
    repeated = Counter(Path(path).name for path in among)
    names = tuple(name if repeated[name := Path(path).name] == 1 else Path(path).as_posix() for path in paths)
    place = "its place" if len(paths) == 1 else "their places"
    return (
        f"{' && '.join(lines)} # and name {shlex.join(made)} in {place}; in a folder or glob, ",
        Setting("exclude", names if len(names) > 1 else names[0]),
        " instead",
    )


def _steps(program: str, encoding: str) -> list[str]:
    """A program, behind the conversion of text that is not UTF-8.

    Python knows the encodings by the names that slmtok takes; iconv has other names.
    """
    return [program] if encoding in _UTF_8_NAMES else [decoder(encoding), program]


def decoder(encoding: str) -> str:
    """A program that writes text in an encoding as UTF-8."""
    if encoding.startswith(UTF_8_ELSE):
        return f"python -c {shlex.quote(_UTF_8_IS_KEPT.format(encoding.removeprefix(UTF_8_ELSE)))}"
    text = f'sys.stdin.buffer.read().decode("{encoding}")'
    # Decoders of UTF-16 whose name has the order of bytes keep the mark.
    if (text_codec(encoding) or "").startswith(("utf-16-", "utf-32-")):
        text += ".removeprefix(chr(0xfeff))"
    return f"python -c {shlex.quote(f'import sys; sys.stdout.buffer.write({text}.encode())')}"


UTF_8_ELSE = "utf-8, else "
"""Before the encoding that some of the files are in, where the others are UTF-8, which a command keeps as it is."""
_UTF_8_IS_KEPT = (
    'import sys; data = sys.stdin.buffer.read(); is_utf_8 = data.decode(errors="ignore").encode() == data; '
    'sys.stdout.buffer.write(data if is_utf_8 else data.decode("{}").encode())'
)
_UTF_8_NAMES = (UTF_8, "utf-8-sig")
"""A mark at the beginning is no reason to convert what follows."""


def without_encoding(encoding: str, before: str = " ") -> tuple[str | Setting, ...]:
    """The end of a remedy that names what a command made of text in `encoding`, which is UTF-8 then."""
    is_of_default = encoding in _UTF_8_NAMES or encoding.startswith(UTF_8_ELSE)
    return () if is_of_default else (f"{before}without ", Setting("encoding"))


def _suffix_of(path: str) -> str:
    """The suffix of a name, with that of its compression."""
    bare, packed = path, ""
    if compression(path) != "plain":
        packed = Path(path).suffix
        bare = path.removesuffix(packed)
    return Path(bare).suffix + packed


def _common_suffix(paths: Sequence[str]) -> str:
    """The suffix of all these names; "" where they differ."""
    suffix = _suffix_of(paths[0])
    return suffix if all(_suffix_of(path) == suffix for path in paths) else ""


def _quoted(suffix: str) -> str:
    """A suffix as the end of a word of a shell."""
    return shlex.quote(suffix) if suffix else ""


def _globs_of(paths: Sequence[str], among: Sequence[str]) -> list[str]:
    """The globs that match these files and none beside them; [] where there are none, or too many.

    Files of several suffixes are all that their folders hold.
    """
    suffix = _common_suffix(paths)
    if not suffix and any(compression(path) != "plain" for path in paths):
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
    return [f"{shlex.quote(folder) + '/' if folder else ''}*{_quoted(suffix)}" for folder in sorted(folders)]


def _folders_of(paths: Sequence[str] | Iterator[str]) -> Iterator[str]:
    return (path.rpartition("/")[0] for path in paths)
