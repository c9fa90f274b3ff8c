"""How to unpack an archive, or compressed data of a kind that no format reads: the command for each kind."""

from __future__ import annotations

import shlex
from pathlib import Path

from slmtok.files import free_name

_UNPACK = "unpack it and name its files"
_ARCHIVES = {
    "a zip archive": "python -m zipfile -e {path} {target}",
    "a tar archive": "python -m tarfile -e {path} {target}",
    "a 7z archive": "7z x {path} -o{target}",
    "a rar archive": "unrar x {path} {target}/",
}
"""Kinds of archives, and the command that unpacks one into a folder."""
_COMPRESSED = {
    "bzip2 data": "bzip2 -dc {path} > {target}",
    "lz4 data": "lz4 -dc {path} > {target}",
    "brotli data": "brotli -dc {path} > {target}",
}


def unpacked(path: str, kind: str) -> str:
    """What to do with a file of this kind: a command and the name of what it writes, for a file that is there."""
    command = _ARCHIVES.get(kind) or _COMPRESSED.get(kind)
    if command is None or not Path(path).is_file():
        return _UNPACK
    bare = path.removesuffix(Path(path).suffix)
    if kind in _ARCHIVES:
        bare = bare.removesuffix(".tar")
    target = shlex.quote(free_name(bare))
    return f"{command.format(path=shlex.quote(path), target=target)}, and name {target}"
