"""Output files that appear whole or not at all: written under a temporary name beside the target, then renamed.

An existing output is refused without `force`, and an output that is also an input always. A failure leaves neither an
output nor a temporary file; what a killed process left is removed when the same output is written again. Each file is
renamed atomically. Of several outputs the first is renamed last and marks the set as complete; a hidden `.set` file
names the others meanwhile, so that the same command may replace what a killed one has renamed. An output whose making
takes longest may be published ahead of the others, and stays where these fail.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import re
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from slmtok.checks import NO_PATH, check_output_name, path_meant, refuse_home
from slmtok.errors import DiskFull, MissingInput, OptionError, OutputExists, Setting, SlmtokError, Unreadable, WrongType
from slmtok.interrupts import at_exit
from slmtok.shell_commands import makes_folder

_SEPARATORS = (os.sep, os.altsep or os.sep)
_FULL = (errno.ENOSPC, errno.EDQUOT)
NO_SPACE = "no space left"
REMEDIES = {
    errno.EFBIG: "raise the limit on the size of a file (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENAMETOOLONG: "give the output a shorter name",
}
"""By the number of an error of the system: what lets an output be written."""
_Path = str | os.PathLike[str]
_temporary_folders: set[Path] = set()
"""Folders for which this process has made temporary names."""


@dataclass
class OutputSet:
    """Several outputs of one command, of which the first marks the set as complete.

    temporary: a path for each output, which the command writes. existed: an output was there before.
    """

    paths: list[Path]
    temporary: tuple[Path, ...]
    force: bool
    existed: bool
    _renamed: dict[Path, list[int]] = field(default_factory=dict)
    """The outputs that are renamed, each with its identity."""
    _records: list[Path] = field(default_factory=list)
    _keeps: bool = False

    def publish_last(self) -> None:
        """Renames the last output ahead of the others. It stays whatever becomes of these, and the same command may
        replace it."""
        self._commit([len(self.paths) - 1], is_recorded=True)
        self._keeps = True

    def finish(self) -> None:
        """Renames the outputs that are left, the first one last."""
        left = [index for index, path in reversed(list(enumerate(self.paths))) if path not in self._renamed]
        if left:
            self._commit(left, is_recorded=len(self.paths) > 1)
        for record in self._records:
            record.unlink()
        if len(self.paths) > 1 or self.existed:
            for old in _stale(self.paths[0], ".set"):
                old.unlink(missing_ok=True)

    def _commit(self, indices: Sequence[int], *, is_recorded: bool) -> None:
        with locked_folder(self.paths[0].parent):
            _check_targets([self.paths[index] for index in indices], self.paths[0], force=self.force)
            self._check_renamed()
            for index in indices:
                if self.paths[index].is_file() and not self.paths[index].is_symlink():
                    self.temporary[index].chmod(stat.S_IMODE(self.paths[index].stat().st_mode))
            if is_recorded:
                self._record(indices)
            for index in indices:
                identity = _identity(self.temporary[index])
                self.temporary[index].replace(self.paths[index])
                self._renamed[self.paths[index]] = identity

    def _check_renamed(self) -> None:
        """Raises `OutputExists` where another process has replaced an output: the others would not fit it."""
        for path, identity in self._renamed.items():
            if not path.is_file() or _identity(path) != identity:
                fact = f"another process has replaced or removed {str(path)!r}, which belongs to {self.paths[0].name!r}"
                raise OutputExists(fact, fix="run the same command again when it has ended", path=str(path))

    def _record(self, indices: Sequence[int]) -> None:
        """Writes a record of these outputs and of those that are renamed already."""
        # A new file, for a torn record would leave nothing to tell a file of this command by.
        self._records.append(temporary_path(self.paths[0]).with_suffix(".set"))
        found = self._renamed | {self.paths[at]: _identity(self.temporary[at]) for at in indices}
        identities = [[os.fspath(path.absolute()), *identity] for path, identity in found.items()]
        write_synced(self._records[-1], json.dumps(identities).encode())

    def clean_up(self) -> bool:
        """Removes temporary files, and outputs that are not to stay. Whether some outputs stay."""
        is_partial = bool(self._renamed and (self._keeps or (self.force and self.existed)))
        for path in (*self.temporary, *(() if is_partial else (*self._renamed, *self._records))):
            # The first failure is the one to report.
            with suppress(OSError):
                path.unlink(missing_ok=True)
        return is_partial


@contextmanager
def output_set(*targets: _Path, inputs: Iterable[_Path] = (), force: bool = False) -> Iterator[OutputSet]:
    """On success all outputs are renamed to their targets, else those that are not published are removed.

    Raises, before any work, what `check_outputs` raises; later `DiskFull`, `Unreadable`, `OutputExists`.
    """
    check_outputs(*targets, inputs=inputs, force=force)
    paths = [Path(target) for target in targets]
    for path in paths:
        remove_stale(path)
    outputs = OutputSet(paths, tuple(map(temporary_path, paths)), force, any(map(os.path.lexists, paths)))
    try:
        yield outputs
        outputs.finish()
    except BaseException as error:
        is_partial = outputs.clean_up() or bool(_unfinished(paths, paths[0]))
        translated = _translate_error(error, outputs.temporary, paths, partial=is_partial)
        if translated is not None:
            raise translated from error
        raise


@contextmanager
def outputs(*targets: _Path, inputs: Iterable[_Path] = (), force: bool = False) -> Iterator[tuple[Path, ...]]:
    """Gives one temporary path for each target; on success all are renamed to their targets, else all are removed.

    Raises what `output_set` raises.
    """
    with output_set(*targets, inputs=inputs, force=force) as made:
        yield made.temporary


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Other processes of this package rename no output in `folder` meanwhile, where the system has such locks.

    Two processes that write one output would otherwise both find its place free. A folder that another program has
    locked is waited for during a second.
    """
    file = -1
    with suppress(ImportError, OSError):
        import fcntl

        file = os.open(folder, os.O_RDONLY)
        for _ in range(100):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.01)
    try:
        yield
    finally:
        if file >= 0:
            os.close(file)


def _identity(path: Path) -> list[int]:
    """Device, inode and time of the last write of a file, which renaming keeps."""
    status = path.stat()
    return [status.st_dev, status.st_ino, status.st_mtime_ns]


def _unfinished(paths: Sequence[Path], first: Path) -> set[Path]:
    """Those of several outputs, the first of which is `first`, that a killed run of them has renamed; they may be
    replaced."""
    found: set[Path] = set()
    for record in _stale(first, ".set"):
        with suppress(OSError, ValueError, TypeError):
            known = {name: identity for name, *identity in json.loads(record.read_bytes())}
            found |= {path for path in paths if path.is_file() and known.get(str(path.absolute())) == _identity(path)}
    return found


def write_synced(path: Path, data: bytes) -> None:
    """Writes a file in place, for a temporary path of `outputs`, and syncs it."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def copy_synced(source: Path, target: Path) -> None:
    """Copies the content of a file in place, for a temporary path, and syncs it."""
    import shutil

    shutil.copyfile(source, target)
    with target.open("r+b") as file:
        os.fsync(file.fileno())


def copy_if_linked(path: Path) -> None:
    """Replaces a file that has another hard link (`cp -al`, a backup) by a copy, before it is changed in place.

    The other name keeps its content. A missing file is none.
    """
    with suppress(FileNotFoundError):
        if path.stat().st_nlink > 1:
            part = temporary_path(path)
            try:
                copy_synced(path, part)
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise


def write(target: str | os.PathLike[str], data: bytes, *, force: bool = False) -> None:
    """Writes one file whole or not at all. Errors as in `outputs`."""
    write_all([(target, data)], force=force)


def write_all(files: Sequence[tuple[_Path, bytes]], *, force: bool = False) -> None:
    """As `write`, several files together."""
    with outputs(*(target for target, _ in files), force=force) as paths:
        for path, (_, data) in zip(paths, files, strict=True):
            write_synced(path, data)


def check_outputs(*targets: _Path, inputs: Iterable[_Path] = (), force: bool = False, option: str = "output") -> None:
    """Raises unless each target can be written; a file is created beside each target and removed again.

    `option` names the targets in fixes.

    `OutputExists`: the target exists without `force`, or is not a regular file. `OptionError`: it is one of `inputs`
    (which need not exist). `MissingInput`: its folder does not exist. `Unreadable`, `DiskFull`: no file can be created
    in the folder. `WrongType`: it is no path.
    """
    paths = [output_path(target) for target in targets]
    if not paths:
        return
    for path in paths:
        _check_target(path, force=True, option=option)
    _refuse_inputs(paths, inputs, option)
    _check_targets(paths, paths[0], force=force, option=option)
    for path in paths:
        probe = temporary_path(path)
        try:
            probe.touch(exist_ok=False)
            probe.unlink()
        except OSError as error:
            raise write_error(error, path, partial=bool(_unfinished(paths, paths[0]))) from error


def output_path(target: object) -> Path:
    """`target` as the path of an output. Raises for a name that no output has: empty, `.`, `/`, one in `~/`."""
    if not isinstance(target, (str, os.PathLike)):
        meant = path_meant(target)
        # An output that is open exists.
        fix = NO_PATH if meant is None else repr(meant) + ", force=True" * hasattr(target, "write")
        raise WrongType(f"an output is named by a str or a Path, not by {type(target).__name__}", fix=fix)
    if not os.fspath(target):
        raise OptionError("the name of the output is empty", fix="name a file, such as 'tok.json'", option="output")
    check_output_name(os.fspath(target))
    path = Path(target)
    refuse_home(target)
    if not path.name:
        raise OutputExists(f"output {str(path)!r} is a folder", fix="name a file in it", path=str(path))
    if os.fspath(target) != os.fspath(path) and os.fspath(target).endswith(_SEPARATORS) and not path.is_dir():
        raise OptionError(
            f"output {os.fspath(target)!r} names a folder",
            fix="leave the slash out" if path.exists() else (makes_folder(str(path)), "; then name a file in it"),
            option="output",
        )
    try:
        path.exists()
    except OSError as error:
        raise write_error(error, path) from error
    return path


def _check_targets(paths: Sequence[Path], first: Path, *, force: bool, option: str = "output") -> None:
    unfinished = _unfinished(paths, first) if not force and any(map(os.path.lexists, paths)) else set()
    for path in paths:
        _check_target(path, force=force or path in unfinished, option=option)


def _check_target(path: Path, *, force: bool, option: str) -> None:
    name = str(path)
    another = ("name another ", Setting(option))
    if path.is_dir():
        raise OutputExists(f"output {name!r} is a folder", fix="name a file in it", path=name)
    if path.exists() and (not path.is_file() or _is_of_system(path)):
        raise OutputExists(f"output {name!r} is not a regular file", fix=another, path=name)
    if os.path.lexists(path) and not force:
        fix = (Setting("force", True), " to replace it, or ", *another)
        raise OutputExists(f"output {name!r} exists", fix=fix, path=name)
    if not path.parent.is_dir():
        refuse_broken_link(path.parent, another)
        fact = f"no folder {str(path.parent)!r} for the output {path.name!r}"
        raise MissingInput(fact, fix=makes_folder(str(path.parent)), path=str(path.parent))


def refuse_broken_link(folder: Path, another: tuple[str | Setting, ...]) -> None:
    """Raises `MissingInput` for a link to nothing, behind which no folder can be made. another: an output to name."""
    for each in (folder, *folder.parents):
        if each.is_symlink() and not each.exists():
            fact = f"{str(each)!r} is a link to {str(each.readlink())!r}, which does not exist"
            raise MissingInput(fact, fix=("make the link again, or ", *another), path=str(each))


def _is_of_system(path: Path) -> bool:
    """Whether a path that exists is, or leads through, an entry of `/dev` or `/proc`, such as `/dev/stdout`.

    It may lead to a regular file, and then a file would take the place of the link of the system.
    """
    while True:
        folder = os.path.realpath(path.parent)
        if folder in ("/dev", "/dev/fd") or folder.startswith("/proc/"):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()


def _refuse_inputs(paths: list[Path], inputs: Iterable[_Path], option: str) -> None:
    known = {key: path for path in paths if (key := _file_key(path)) is not None}
    for source in inputs if known else ():
        path = known.get(_file_key(source) or (-1, -1))
        if path is not None:
            raise OptionError(
                f"output {str(path)!r} is also the input",
                where=None if str(path) == os.fspath(source) else f"the input {os.fspath(source)!r} is the same file",
                fix=("name another ", Setting(option)),
                option=option,
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
    _temporary_folders.add(path.parent)
    at_exit.add(remove_own)
    return path.with_name(f".{path.name}.{_owner()}-{os.urandom(4).hex()}.part")


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """A new folder beside `path`, which is removed at the end; that of a killed process is removed by the next one."""
    import shutil

    remove_stale(path)
    folder = temporary_path(path)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_stale(path: Path) -> None:
    """Removes temporary files and folders beside an output whose process, on this machine, has ended.

    In a folder with the sticky bit, such as `/tmp`, those of other users stay.
    """
    is_shared, user = False, os.getuid() if hasattr(os, "getuid") else None
    with suppress(OSError):
        is_shared = user is not None and bool(path.parent.stat().st_mode & stat.S_ISVTX)
    for entry in _stale(path, ".part"):
        with suppress(OSError):
            if not is_shared or entry.lstat().st_uid == user:
                _remove(entry)


def remove_own() -> None:
    """Removes the temporary files and folders of this process, which ends without its clean-up."""
    for folder in tuple(_temporary_folders):
        with suppress(OSError):
            for entry in folder.iterdir():
                if f".{_owner()}-" in entry.name and entry.name.endswith(".part"):
                    _remove(entry)


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        import shutil  # It loads the modules of archives, and is rarely needed.

        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)


def _stale(path: Path, suffix: str) -> list[Path]:
    """The hidden files beside an output whose process, on this machine, has ended."""
    owner = re.escape(_machine()) + r"-(\d+)-(\d+)-[0-9a-f]{8}"
    # What is written into a temporary path may have one of its own.
    nested = rf"\.{re.escape(path.name)}\.{owner}(?:\.part\.{re.escape(_machine())}-[0-9-]+-[0-9a-f]{{8}})?"
    found = []
    with suppress(OSError):
        for entry in path.parent.iterdir():
            # Most folders hold none: the pattern, which takes 0.5 ms to compile, is for likely names.
            likely = entry.name.endswith(suffix) and path.name in entry.name
            match = re.fullmatch(r"\.?" + nested + re.escape(suffix), entry.name) if likely else None
            if match is not None and _has_ended(int(match[1]), match[2]):
                found.append(entry)
    return found


def _owner() -> str:
    return f"{_machine()}-{os.getpid()}-{_start_time(os.getpid())}"


def _machine() -> str:
    """A digest of the machine's name and of the namespace of process ids, as of a container: a number names one process
    only within both."""
    namespace = ""
    with suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 (it is no path)
    return hashlib.sha256(f"{platform.node()} {namespace}".encode()).hexdigest()[:8]


def _has_ended(process: int, start: str) -> bool:
    """Whether the process that started at `start` has ended; another one may have its number now."""
    now = _start_time(process)
    return now is None or (now != start and "0" not in (now, start))


def _start_time(process: int) -> str | None:
    """When a process started, in ticks of the system; "0" where the system does not say, None for one that ended."""
    if sys.platform == "linux":
        # Some users do not see the processes of others in /proc, and a sandbox may have that of another namespace.
        with suppress(OSError, IndexError):
            if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115
                return "0"
            # The name of the program, in brackets, may hold anything; the start is the 20th field behind it.
            fields = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
            # A killed process has ended, also before its parent waits for it, which some never do.
            return None if fields[0] in ("Z", "X") else fields[19]
    with suppress(PermissionError):
        try:
            if os.name == "posix":
                os.kill(process, 0)
        except (ProcessLookupError, OverflowError):
            return None
    return "0"


def _translate_error(
    error: BaseException, temporary: tuple[Path, ...], paths: list[Path], *, partial: bool
) -> SlmtokError | None:
    """An error about a temporary file or the disk as one about the target; None for any other."""
    if not isinstance(error, OSError):
        return None
    targets = {str(source): target for source, target in zip(temporary, paths, strict=True)}
    if not isinstance(error, SlmtokError):
        removed = targets.get(str(error.filename)) if error.errno == errno.ENOENT else None
        if removed is not None and removed.parent.is_dir():
            return removed_error(removed, partial=partial)
        return write_error(error, paths[0], partial=partial)
    number, path = error.fields.get("os_error"), str(error.fields.get("path"))
    if not isinstance(error, Unreadable) or not isinstance(number, int):
        return None
    if path not in targets and number not in _FULL:
        return None
    return write_error(OSError(number, os.strerror(number)), targets.get(path, paths[0]), partial=partial)


def _left(partial: bool) -> str:
    return "some outputs are written; the same command finishes them" if partial else "nothing partial was left"


def removed_error(path: Path, *, partial: bool = False) -> SlmtokError:
    """The error for an output whose temporary file or folder is no longer there."""
    return Unreadable(
        f"another program removed the temporary file of {str(path)!r} before it was complete",
        where=f"the folder {str(path.parent)!r}; {_left(partial)}",
        fix="run the same command again, while no program removes files '.*.part' of this folder",
        path=str(path),
        os_error=errno.ENOENT,
    )


def _is_working_folder_removed() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def lack_of_room(folder: Path) -> tuple[str, str]:
    """What a full disk lacks, and what gives it: space, or inodes, of which each file takes one.

    Some file systems count no inodes, and Windows has no `statvfs`.
    """
    with suppress(OSError, AttributeError):
        found = os.statvfs(folder)
        if found.f_files and not found.f_favail:
            return "no inodes left", "remove some files from its disk"
    return NO_SPACE, "free some space"


def write_error(error: OSError, path: Path, *, partial: bool = False) -> SlmtokError:
    """The error for an output that could not be written. `partial`: some of several are written, and stay."""
    left = _left(partial)
    if error.errno == errno.ENOENT and not path.is_absolute() and _is_working_folder_removed():
        return MissingInput("the working folder was removed", fix="cd to a folder that exists", path=".")
    if error.errno in _FULL:
        fact, remedy = lack_of_room(path.parent)
        return DiskFull(
            f"{fact} while writing {path.name!r}",
            where=f"{path.parent}; {left}",
            fix=f"{remedy}, then run the same command again",
            path=str(path),
        )
    return Unreadable(
        f"cannot write {str(path)!r}: {error.strerror or error}",
        where=f"the folder {str(path.parent)!r}; {left}",
        fix=REMEDIES.get(error.errno or 0, "name an output in a writable folder")
        + ", or write less" * (error.errno == errno.EFBIG),
        path=str(path),
        os_error=error.errno,
    )
