"""`SHA256SUMS` of a folder: the digests of its files, and the size that each may have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from slmmodel.errors import CorruptFile
from slmmodel.files import reading, sha256_of
from slmmodel.json_files import read_bounded

SUMS = "SHA256SUMS"
_SUM = re.compile(r"([0-9a-f]{64})  ((?!\.\.?$)[^/\\\0]+)")
MAX_CONFIG_BYTES = 1 << 20
"""Of `config.yaml` and `SHA256SUMS`."""
_MAX_TABLE_BYTES, _MAX_HEADER_BYTES = 128 << 20, 4 << 20
"""Of a tokenizer, the largest file without tensors, and of the header of safetensors: that of 30,000 tensors.

The library allows 100 MB, which Python would parse for seconds without hearing a signal.
"""


def sums_of(folder: Path, names: Iterable[str]) -> bytes:
    """The content of a `SHA256SUMS` file, as `sha256sum -c` reads it."""
    return "".join(f"{sha256_of(folder / name)}  {name}\n" for name in sorted(names)).encode()


def read_sums(folder: Path) -> dict[str, str]:
    """The sums by file name; empty where the file is missing. Raises `CorruptFile`, `Unreadable`."""
    path = folder / SUMS
    try:
        with reading(path):
            lines = read_bounded(path, MAX_CONFIG_BYTES).decode("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CorruptFile(f"{SUMS} {error}", where=str(path), fix="restore the file", path=str(path)) from None
    found = {}
    for number, line in enumerate(lines, 1):
        match = _SUM.fullmatch(line)
        if match is None:
            raise CorruptFile(
                f"{SUMS} has {line!r:.80}, which is not a sum and the name of a file of its folder",
                where=f"{path}, line {number}",
                fix="restore the file",
                path=str(path),
            )
        found[match[2]] = match[1]
    return found


def largest_size(path: Path) -> int:
    """The largest size in bytes of a sound file of this name; for tensors, the size that the header of the file gives.

    A sparse file of any size takes no space, and would be hashed for hours.
    """
    if path.suffix != ".safetensors":
        return _MAX_TABLE_BYTES
    with reading(path), path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = file.read(length) if length <= _MAX_HEADER_BYTES else b""
    try:
        ends = [entry["data_offsets"][1] for name, entry in json.loads(header).items() if name != "__metadata__"]
        return 8 + length + int(max(ends, default=0))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return 0
