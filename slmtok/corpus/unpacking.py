"""How to unpack an archive, or compressed data of a kind that no format reads: the command for each kind."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from slmtok.corpus.streams import compression
from slmtok.files import free_name

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


def unpacked(paths: Sequence[str], kind: str) -> str:
    """What to do with files of this kind: commands and the names of what they write, for files that are there.

    The programs read a file as it is; only tarfile decompresses.
    """
    steps = [_step(path, kind) for path in paths]
    found = [step for step in steps if step is not None]
    return _then_name(found) if len(found) == len(steps) else _UNPACK


def _step(path: str, kind: str) -> tuple[str, str] | None:
    """The command that unpacks a file, and the name that it writes, as a word of a shell."""
    outer = compression(path)
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


def _then_name(steps: Sequence[tuple[str, str]]) -> str:
    return f"{' && '.join(command for command, _ in steps)}, and name {' '.join(target for _, target in steps)}"


def decompressed(path: str, suffix: str = "") -> str:
    """The command that decompresses a compressed file once, into a name that ends in `suffix`, and that name."""
    return _then_name([_decompression(path, suffix)])


def _decompression(path: str, suffix: str = "") -> tuple[str, str]:
    bare = path.removesuffix(Path(path).suffix).removesuffix(suffix)
    target = shlex.quote(free_name(bare + suffix))
    return f"{DECOMPRESS[compression(path)]} {shlex.quote(path)} > {target}", target
