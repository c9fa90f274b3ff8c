"""Outputs that appear whole or not at all: written beside their place, then renamed.

An existing output is refused unless the caller says `force`, and one that is an input always; whatever fails leaves no
output and no stray file, and what a killed process has left goes when the same output is written again. Renames are
atomic for each file, not for several together. Here alone outputs are judged.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from slmtok.errors import DiskFull, MissingInput, OptionError, OutputExists, Setting, SlmtokError, Unreadable, WrongType

_FULL = (errno.ENOSPC, errno.EDQUOT)
_Path = str | os.PathLike[str]


@contextmanager
def outputs(*targets: _Path, inputs: Iterable[_Path] = (), force: bool = False) -> Iterator[tuple[Path, ...]]:
    """Gives one temporary path for each target; on success all are renamed to their targets, else all are removed.

    Raises, before any work, what `check_outputs` raises; later `DiskFull`, `Unreadable`.
    """
    check_outputs(*targets, inputs=inputs, force=force)
    places = [Path(target) for target in targets]
    for place in places:
        sweep(place)
    temporary = tuple(map(beside, places))
    moved: list[Path] = []
    try:
        yield temporary
        for place in places:
            _judge(place, force=force)
        for source, place in zip(temporary, places, strict=True):
            source.replace(place)
            moved.append(place)
    except BaseException as error:
        for path in (*temporary, *(() if force else moved)):
            # What went wrong first is what must be told.
            with suppress(OSError):
                path.unlink(missing_ok=True)
        told = _retold(error, temporary, places)
        if told is not None:
            raise told from error
        raise


def write(target: str | os.PathLike[str], data: bytes, *, force: bool = False) -> None:
    """Writes one file whole or not at all. Errors as in `outputs`."""
    with outputs(target, force=force) as (temporary,), temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def check_outputs(*targets: _Path, inputs: Iterable[_Path] = (), force: bool = False) -> None:
    """Raises unless each target can be written; to know it, a file is made beside each target and removed again.

    `OutputExists`: the target is there without `force`, or is not a regular file. `OptionError`: it is one of `inputs`
    (which need not exist). `MissingInput`: its folder does not exist. `Unreadable`, `DiskFull`: the folder takes no
    file. `WrongType`: it is no path.
    """
    places = [_place(target) for target in targets]
    for place in places:
        _judge(place, force=True)
    _refuse_inputs(places, inputs)
    for place in places:
        _judge(place, force=force)
    for place in places:
        probe = beside(place)
        try:
            probe.touch(exist_ok=False)
            probe.unlink()
        except OSError as error:
            raise _explain(error, place) from error


def _place(target: object) -> Path:
    if not isinstance(target, (str, os.PathLike)):
        raise WrongType(f"an output is named by a str or a Path, not by {type(target).__name__}", fix="'tok.json'")
    if "\0" in os.fspath(target):
        raise OptionError(
            f"output {os.fspath(target)!r} holds a zero byte", limit="no file has such a name", fix="name it without"
        )
    place = Path(target)
    try:
        place.exists()
    except OSError as error:
        raise _explain(error, place) from error
    return place


def _judge(place: Path, *, force: bool) -> None:
    name = str(place)
    if place.is_dir():
        raise OutputExists(f"output {name!r} is a folder", fix="name a file in it", path=name)
    if place.exists() and not place.is_file():
        raise OutputExists(
            f"output {name!r} is not a regular file", fix=("name another ", Setting("output")), path=name
        )
    if place.exists() and not force:
        raise OutputExists(
            f"output {name!r} exists",
            fix=(Setting("force", True), " to replace it, or name another ", Setting("output")),
            path=name,
        )
    if not place.parent.is_dir():
        raise MissingInput(
            f"no folder {str(place.parent)!r} for the output {place.name!r}",
            fix=f"mkdir -p {place.parent}",
            path=str(place.parent),
        )


def _refuse_inputs(places: list[Path], inputs: Iterable[_Path]) -> None:
    taken = {(found.st_dev, found.st_ino): place for place in places if (found := _status(place)) is not None}
    if not taken:
        return
    for source in inputs:
        found = _status(source)
        place = taken.get((found.st_dev, found.st_ino)) if found is not None else None
        if place is not None:
            raise OptionError(
                f"output {str(place)!r} is also the input",
                where=None if str(place) == os.fspath(source) else f"the input {os.fspath(source)!r} is the same file",
                fix=("name another ", Setting("output")),
                option="output",
                path=str(place),
            )


def _status(path: _Path) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 (inputs may be many; a Path for each costs more than the call)
    except (OSError, ValueError):
        return None


def beside(place: Path) -> Path:
    """A new name beside an output, hidden, of this process: for what is renamed to the output once it is whole."""
    return place.with_name(f".{place.name}.{_owner(os.getpid())}-{secrets.token_hex(4)}.part")


def sweep(place: Path) -> None:
    """Removes what processes of this machine that are gone have left beside an output, folders among it."""
    left = re.compile(re.escape(f".{place.name}.{_machine()}-") + r"(\d+)-(\d+)-[0-9a-f]{8}\.part")
    with suppress(OSError):
        for path in place.parent.iterdir():
            found = left.fullmatch(path.name)
            if found is None or _started(int(found[1])) == found[2]:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _owner(process: int) -> str:
    """Names a process so that no later one has the same name: its machine, its number, when it started."""
    return f"{_machine()}-{process}-{_started(process) or 0}"


def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _started(process: int) -> str | None:
    """When a process started, in the ticks of the system; "0" where that is not told, None for one that is gone."""
    try:
        # The name of the program, in brackets, may hold anything; the start is the 20th field behind it.
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return _alive(process)


def _alive(process: int) -> str | None:
    if os.name != "posix" or sys.platform == "linux":
        return None if sys.platform == "linux" else "0"
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return "0"


def _retold(error: BaseException, temporary: tuple[Path, ...], places: list[Path]) -> SlmtokError | None:
    """The error about the target, where it is about the temporary file or about the disk; else None."""
    if not isinstance(error, OSError):
        return None
    if not isinstance(error, SlmtokError):
        return _explain(error, places[0])
    number, path = error.fields.get("os_error"), str(error.fields.get("path"))
    if not isinstance(error, Unreadable) or not isinstance(number, int):
        return None
    names = {str(source): place for source, place in zip(temporary, places, strict=True)}
    if path not in names and number not in _FULL:
        return None
    return _explain(OSError(number, os.strerror(number)), names.get(path, places[0]))


def _explain(error: OSError, place: Path) -> SlmtokError:
    if error.errno in _FULL:
        return DiskFull(
            f"no space left while writing {place.name!r}",
            where=f"{place.parent}; nothing partial was left",
            fix="free some space, then run the same command again",
            path=str(place),
        )
    fix = "name an output in a folder that may be written to"
    if error.errno == errno.EFBIG:
        fix = "raise the limit on the size of a file (ulimit -f), or write less"
    elif error.errno == errno.ENAMETOOLONG:
        fix = "give the output a shorter name"
    return Unreadable(
        f"cannot write {str(place)!r}: {error.strerror or error}",
        where=f"the folder {str(place.parent)!r}; nothing partial was left",
        fix=fix,
        path=str(place),
        os_error=error.errno,
    )
