"""Files of a bundle: written beside their place, synced, renamed; checked against their sums before they are believed.

Tensors are safetensors with one metadata key, so that equal tensors are equal files; tables are JSON with sorted keys.
Nothing is pickled.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel.errors import CorruptBundle, DiskFull, Unreadable

if TYPE_CHECKING:
    from torch import Tensor

SUMS = "SHA256SUMS"
_CHUNK = 1 << 20


def to_json(table: Mapping[str, Any]) -> bytes:
    """A table as people can read it; the same bytes for the same values."""
    return (json.dumps(table, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def to_tensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Tensors by name as the bytes of a safetensors file."""
    from safetensors.torch import save

    return save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {"format": "pt"})


def write(path: Path, data: bytes) -> None:
    """Writes one file whole or not at all, and makes sure that it survives a loss of power. Raises `DiskFull`."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write_synced(beside, data)
        beside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise explained(error, path) from error


def write_synced(path: Path, data: bytes) -> None:
    """Writes a file in place and waits until the disk has it."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Waits until the disk has the names in a folder."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def explained(error: OSError, path: Path) -> DiskFull | Unreadable:
    """The system's refusal to write, in the house style."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            f"no space left while writing {path.name!r}",
            where=f"{path.parent}; nothing partial was left",
            fix="free some space, then run the same command again; it continues",
            path=str(path),
        )
    return Unreadable(
        f"cannot write {str(path)!r}: {error.strerror or error}",
        where=str(path.parent),
        fix="name a folder that may be written to",
        path=str(path),
    )


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def sums_of(folder: Path, names: Iterable[str]) -> bytes:
    """The text of a `SHA256SUMS` file, as `sha256sum -c` reads it."""
    return "".join(f"{digest(folder / name)}  {name}\n" for name in sorted(names)).encode()


def read_sums(folder: Path) -> dict[str, str]:
    """The sums by name of file; empty where there are none or the file is not whole."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = [line.split("  ", 1) for line in lines]
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}


def check(folder: Path, names: Iterable[str] | None = None) -> None:
    """Raises `CorruptBundle` for the first listed file that is missing or differs from its sum."""
    sums = read_sums(folder)
    for name in sums if names is None else [name for name in names if name in sums]:
        path = folder / name
        if not path.is_file() or digest(path) != sums[name]:
            raise CorruptBundle(
                f"{name} {'differs from' if path.exists() else 'is missing, though it stands in'} {SUMS}",
                where=str(folder),
                limit="files of a run are not edited by hand",
                fix="restore the file; slm train and slm resume go on with --allow-mismatch files",
                path=str(path),
            )


def read_json(path: Path) -> dict[str, Any]:
    """A table. Raises `CorruptBundle`."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise CorruptBundle(
            f"cannot read {path.name}: {error}", where=str(path.parent), fix="restore the file", path=str(path)
        ) from None
    if not isinstance(found, dict):
        raise CorruptBundle(f"{path.name} is no table", where=str(path.parent), fix="restore the file", path=str(path))
    return found


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors by name, on the CPU. Raises `CorruptBundle`."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CorruptBundle(
            f"cannot read {path.name}: {error}", where=str(path.parent), fix="restore the file", path=str(path)
        ) from None
