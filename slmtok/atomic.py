"""Output files that appear whole or not at all: written under a temporary name beside the target, then renamed.

An existing output is refused without `force`, and an output that is also an input always. A failure leaves neither an
output nor a temporary file; what a killed process left is removed when the same output is written again. Each file is
renamed atomically, several together are not.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
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
    paths = [Path(target) for target in targets]
    for path in paths:
        remove_stale(path)
    temporary = tuple(map(temporary_path, paths))
    renamed: list[Path] = []
    try:
        yield temporary
        for path in paths:
            _check_target(path, force=force)
        for source, path in zip(temporary, paths, strict=True):
            source.replace(path)
            renamed.append(path)
    except BaseException as error:
        for path in (*temporary, *(() if force else renamed)):
            # The first failure is the one to report.
            with suppress(OSError):
                path.unlink(missing_ok=True)
        translated = _translate_error(error, temporary, paths)
        if translated is not None:
            raise translated from error
        raise


def write(target: str | os.PathLike[str], data: bytes, *, force: bool = False) -> None:
    """Writes one file whole or not at all. Errors as in `outputs`."""
    write_all([(target, data)], force=force)


def write_all(files: Sequence[tuple[_Path, bytes]], *, force: bool = False) -> None:
    """As `write`, several files together."""
    with outputs(*(target for target, _ in files), force=force) as paths:
        for path, (_, data) in zip(paths, files, strict=True):
            with path.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())


def check_outputs(*targets: _Path, inputs: Iterable[_Path] = (), force: bool = False) -> None:
    """Raises unless each target can be written; a file is created beside each target and removed again.

    `OutputExists`: the target exists without `force`, or is not a regular file. `OptionError`: it is one of `inputs`
    (which need not exist). `MissingInput`: its folder does not exist. `Unreadable`, `DiskFull`: no file can be created
    in the folder. `WrongType`: it is no path.
    """
    paths = [_path(target) for target in targets]
    for path in paths:
        _check_target(path, force=True)
    _refuse_inputs(paths, inputs)
    for path in paths:
        _check_target(path, force=force)
        probe = temporary_path(path)
        try:
            probe.touch(exist_ok=False)
            probe.unlink()
        except OSError as error:
            raise _explain(error, path) from error


def _path(target: object) -> Path:
    if not isinstance(target, (str, os.PathLike)):
        raise WrongType(f"an output is named by a str or a Path, not by {type(target).__name__}", fix="'tok.json'")
    if "\0" in os.fspath(target):
        raise OptionError(f"output {os.fspath(target)!r} holds a zero byte", fix="name it without")
    path = Path(target)
    try:
        path.exists()
    except OSError as error:
        raise _explain(error, path) from error
    return path


def _check_target(path: Path, *, force: bool) -> None:
    name = str(path)
    another = ("name another ", Setting("output"))
    if path.is_dir():
        raise OutputExists(f"output {name!r} is a folder", fix="name a file in it", path=name)
    if path.exists() and not path.is_file():
        raise OutputExists(f"output {name!r} is not a regular file", fix=another, path=name)
    if path.exists() and not force:
        fix = (Setting("force", True), " to replace it, or ", *another)
        raise OutputExists(f"output {name!r} exists", fix=fix, path=name)
    if not path.parent.is_dir():
        fact = f"no folder {str(path.parent)!r} for the output {path.name!r}"
        raise MissingInput(fact, fix=f"mkdir -p {path.parent}", path=str(path.parent))


def _refuse_inputs(paths: list[Path], inputs: Iterable[_Path]) -> None:
    known = {key: path for path in paths if (key := _file_key(path)) is not None}
    for source in inputs if known else ():
        path = known.get(_file_key(source) or (-1, -1))
        if path is not None:
            raise OptionError(
                f"output {str(path)!r} is also the input",
                where=None if str(path) == os.fspath(source) else f"the input {os.fspath(source)!r} is the same file",
                fix=("name another ", Setting("output")),
                option="output",
                path=str(path),
            )


def _file_key(path: _Path) -> tuple[int, int] | None:
    """Device and inode of a file; None where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 (inputs may be many; a Path for each costs more than the call)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def temporary_path(path: Path) -> Path:
    """A new hidden name beside an output; it names this process, so that later ones know whether it still runs."""
    owner = f"{_machine()}-{os.getpid()}-{_start_time(os.getpid()) or 0}"
    return path.with_name(f".{path.name}.{owner}-{os.urandom(4).hex()}.part")


def remove_stale(path: Path) -> None:
    """Removes temporary files and folders beside an output whose process, on this machine, has ended."""
    pattern = re.compile(re.escape(f".{path.name}.{_machine()}-") + r"(\d+)-(\d+)-[0-9a-f]{8}\.part")
    with suppress(OSError):
        for entry in path.parent.iterdir():
            found = pattern.fullmatch(entry.name)
            if found is None or _start_time(int(found[1])) == found[2]:
                continue
            if entry.is_dir() and not entry.is_symlink():
                import shutil  # It loads the modules of archives, and is rarely needed.

                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)


def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _start_time(process: int) -> str | None:
    """When a process started, in ticks of the system; "0" where the system does not say, None for one that ended."""
    if sys.platform == "linux":
        with suppress(OSError, IndexError):
            # The name of the program, in brackets, may hold anything; the start is the 20th field behind it.
            return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
        return None
    with suppress(PermissionError):
        try:
            if os.name == "posix":
                os.kill(process, 0)
        except ProcessLookupError:
            return None
    return "0"


def _translate_error(error: BaseException, temporary: tuple[Path, ...], paths: list[Path]) -> SlmtokError | None:
    """An error about a temporary file or the disk as one about the target; None for any other."""
    if not isinstance(error, OSError):
        return None
    if not isinstance(error, SlmtokError):
        return _explain(error, paths[0])
    number, path = error.fields.get("os_error"), str(error.fields.get("path"))
    if not isinstance(error, Unreadable) or not isinstance(number, int):
        return None
    targets = {str(source): target for source, target in zip(temporary, paths, strict=True)}
    if path not in targets and number not in _FULL:
        return None
    return _explain(OSError(number, os.strerror(number)), targets.get(path, paths[0]))


def _explain(error: OSError, path: Path) -> SlmtokError:
    if error.errno in _FULL:
        return DiskFull(
            f"no space left while writing {path.name!r}",
            where=f"{path.parent}; nothing partial was left",
            fix="free some space, then run the same command again",
            path=str(path),
        )
    fixes = {
        errno.EFBIG: "raise the limit on the size of a file (ulimit -f), or write less",
        errno.ENAMETOOLONG: "give the output a shorter name",
    }
    return Unreadable(
        f"cannot write {str(path)!r}: {error.strerror or error}",
        where=f"the folder {str(path.parent)!r}; nothing partial was left",
        fix=fixes.get(error.errno or 0, "name an output in a writable folder"),
        path=str(path),
        os_error=error.errno,
    )
