"""How to unpack an archive, or compressed data of a kind that no format reads: the command for each kind."""

from __future__ import annotations

import shlex
import zlib
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from slmtok.corpus.streams import compression
from slmtok.corpus.tables import key_of
from slmtok.corpus.template import template_of
from slmtok.errors import Setting
from slmtok.file_content import HEAD_BYTES, content_of, suffixed
from slmtok.files import free_name
from slmtok.options import ReadOptions

_UNPACK = "unpack it and name its files"
_ARCHIVES = {
    "a zip archive": "python -m zipfile -e {path} {target}",
    "a tar archive": "python -m tarfile -e {path} {target}",
    "a 7z archive": "7z x {path} -o{target}",
    "a rar archive": "unrar x {path} {target}/",
}
"""Kinds of archives, and the command that unpacks one into a folder."""
_TAR_OF_ZSTD = "mkdir {target} && zstd -dc {path} | tar -x -C {target}"
"""Python has no zstd before 3.14."""
DECOMPRESS = {"gz": "gzip -dc", "zst": "zstd -dc", "xz": "xz -dc"}
"""The program that decompresses a file, by `compression`."""
_COMPRESSED = {
    "bzip2 data": "bzip2 -dc {path} > {target}",
    "lz4 data": "lz4 -dc {path} > {target}",
    "brotli data": "brotli -dc {path} > {target}",
}
_MARKS = {".csv": ",", ".tsv": "\t"}
_MAX_LINES, _MAX_LINE_BYTES = 100, 1 << 16
"""Of a table in an archive, by which the column of its text is known."""


def unpacked(paths: Sequence[str], kind: str) -> str:
    """What to do with files of this kind: commands and the names of what they write, for files that are there.

    The programs read a file as it is; only tarfile decompresses.
    """
    steps = [_step(path, kind) for path in paths]
    found = [step for step in steps if step is not None]
    return _then_name(found) if len(found) == len(steps) else _UNPACK


def key_of_table(path: str, options: ReadOptions) -> tuple[str | Setting, ...]:
    """The end of a fix that names the column of the text, where the first table of a zip archive needs it; else ()."""
    from zipfile import BadZipFile, ZipFile

    if not Path(path).is_file():
        return ()
    try:
        with ZipFile(path) as archive:
            name = next((each for each in archive.namelist() if Path(each).suffix.lower() in _MARKS), None)
            if name is None:
                return ()
            with archive.open(name) as file:
                lines = [*islice(iter(lambda: file.readline(_MAX_LINE_BYTES), b""), _MAX_LINES)]
    except (OSError, BadZipFile, RuntimeError, ValueError, NotImplementedError, EOFError, zlib.error):
        return ()
    return key_of(lines, _MARKS[Path(name).suffix.lower()], template_of(options))


def _step(path: str, kind: str) -> tuple[str, str] | None:
    """The command that unpacks a file, and the name that it writes, as a word of a shell."""
    outer = _compression_of_bytes(path)
    if outer != "plain" and kind != "a tar archive" and Path(path).is_file():
        return _decompression(path)
    command = _ARCHIVES.get(kind) or _COMPRESSED.get(kind)
    if command is None or not Path(path).is_file():
        return None
    bare = path.removesuffix(Path(path).suffix)
    if kind in _ARCHIVES:
        command = _TAR_OF_ZSTD if outer == "zst" else command
        bare = bare.removesuffix(".tar")
    target = shlex.quote(free_name(bare))
    return command.format(path=shlex.quote(path), target=target), target


def _compression_of_bytes(path: str) -> str:
    """The compression that the name of a file says; "plain" where its bytes are no such data."""
    outer = compression(path)
    if outer == "plain" or not Path(path).is_file():
        return outer
    with suppress(OSError), Path(path).open("rb") as file:
        content = content_of(file.read(HEAD_BYTES))
        if content is None or content.read_by != suffixed(f".{outer}"):
            return "plain"
    return outer


def _then_name(steps: Sequence[tuple[str, str]]) -> str:
    return f"{' && '.join(command for command, _ in steps)} # and name {' '.join(target for _, target in steps)}"


def decompressed(path: str, suffix: str = "") -> str:
    """The command that decompresses a compressed file once, into a name that ends in `suffix`, and that name."""
    return _then_name([_decompression(path, suffix)])


def _decompression(path: str, suffix: str = "") -> tuple[str, str]:
    bare = path.removesuffix(Path(path).suffix).removesuffix(suffix)
    target = shlex.quote(free_name(bare + suffix))
    return f"{DECOMPRESS[compression(path)]} {shlex.quote(path)} > {target}", target
