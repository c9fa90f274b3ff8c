"""How to unpack an archive, or compressed data of a kind that no format reads: the command for each kind."""

from __future__ import annotations

import shlex
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


def unpacked(path: str, kind: str) -> str:
    """What to do with a file of this kind: a command and the name of what it writes, for a file that is there.

    The programs read the file as it is; only tarfile decompresses.
    """
    outer = compression(path)
    if outer != "plain" and kind != "a tar archive" and Path(path).is_file():
        return decompressed(path)
    command = _ARCHIVES.get(kind) or _COMPRESSED.get(kind)
    if command is None or not Path(path).is_file():
        return _UNPACK
    bare = path.removesuffix(Path(path).suffix)
    if kind in _ARCHIVES:
        command = _TAR_OF_ZSTD if outer == "zst" else command
        bare = bare.removesuffix(".tar")
    target = shlex.quote(free_name(bare))
    return f"{command.format(path=shlex.quote(path), target=target)}, and name {target}"


def decompressed(path: str, suffix: str = "") -> str:
    """The command that decompresses a compressed file once, into a name that ends in `suffix`, and that name."""
    bare = path.removesuffix(Path(path).suffix).removesuffix(suffix)
    target = shlex.quote(free_name(bare + suffix))
    return f"{DECOMPRESS[compression(path)]} {shlex.quote(path)} > {target}, and name {target}"
