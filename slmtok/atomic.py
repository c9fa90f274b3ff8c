"""Outputs that appear whole or not at all: written beside their place, then renamed.

An existing output is refused unless the caller says `force`; whatever fails leaves no output and no stray file. Renames
are atomic for each file, not for several together.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slmtok.errors import DiskFull, MissingInput, OutputExists, SlmtokError, Unreadable


@contextmanager
def outputs(*targets: str | os.PathLike[str], force: bool = False) -> Iterator[tuple[Path, ...]]:
    """Gives one temporary path for each target; on success all are renamed to their targets, else all are removed.

    Raises `OutputExists` before any work, `MissingInput` for a folder that does not exist, `DiskFull`, `Unreadable`.
    """
    places = [Path(target) for target in targets]
    check_outputs(*places, force=force)
    mark = f".{os.getpid()}-{secrets.token_hex(4)}.part"
    temporary = tuple(place.with_name(f".{place.name}{mark}") for place in places)
    moved: list[Path] = []
    try:
        yield temporary
        check_outputs(*places, force=force)
        for source, place in zip(temporary, places, strict=True):
            source.replace(place)
            moved.append(place)
    except BaseException as error:
        for path in (*temporary, *(() if force else moved)):
            path.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, SlmtokError):
            raise _explain(error, places[0]) from error
        raise


def write(target: str | os.PathLike[str], data: bytes, *, force: bool = False) -> None:
    """Writes one file whole or not at all. Errors as in `outputs`."""
    with outputs(target, force=force) as (temporary,), temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def check_outputs(*targets: str | os.PathLike[str], force: bool = False) -> None:
    """Raises unless each target can be written: its folder exists, and it does not, or `force` is given."""
    for target in map(Path, targets):
        if target.is_dir():
            raise OutputExists(f"output {str(target)!r} is a folder", fix="name a file in it", path=str(target))
        if target.exists() and not force:
            raise OutputExists(
                f"output {str(target)!r} exists", fix="--force to replace it, or another -o", path=str(target)
            )
        if not target.parent.is_dir():
            raise MissingInput(
                f"no folder {str(target.parent)!r} for the output {target.name!r}",
                fix=f"mkdir -p {target.parent}",
                path=str(target.parent),
            )


def _explain(error: OSError, place: Path) -> SlmtokError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            f"no space left while writing {place.name!r}",
            where=f"{place.parent}; nothing partial was left",
            fix="free some space, then run the same command again",
            path=str(place),
        )
    return Unreadable(f"cannot write {str(place)!r}: {error.strerror or error}", path=str(place), os_error=error.errno)
