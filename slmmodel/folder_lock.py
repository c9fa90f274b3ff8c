"""The lock of a folder that one process at a time may write, such as a run.

It is a lock of the operating system on the file `.lock`, so it is released when its process ends, in whatever way. File
systems without locks (some network mounts) are locked in the temporary folder instead, which keeps out processes of the
same user on the same machine only.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from slmmodel.errors import Argument, DiskFull, MissingInput, OutputExists, Unreadable

LOCK = ".lock"
_LOCKED_BYTE = 1 << 30
_releases: set[tuple[int, Callable[[], None]]] = set()
"""The process that holds each lock, which a forked one does not, and what releases it."""
_HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)


def check_regular(path: Path) -> None:
    """Raises `Unreadable` for a folder, a link, a pipe or a device in the place of a file that is written.

    A file that does not exist is sound.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            is_folder = stat.S_ISDIR(mode)
            kind = "no regular file but a folder" if is_folder else "no regular file"
            remedy = f"mv {shlex.quote(str(path))} elsewhere, and run the same command again"
            raise Unreadable(
                f"{path.name} is {'a symbolic link' if stat.S_ISLNK(mode) else kind}",
                where=str(path),
                fix=remedy if is_folder else "remove it; it is made again",
                path=str(path),
            )


def check_folder(path: Path) -> None:
    """Raises `Unreadable` for a link or a file in the place of a folder in which files are written and removed.

    A folder that does not exist is sound.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        mode = path.lstat().st_mode
        if not stat.S_ISDIR(mode):
            is_link = stat.S_ISLNK(mode)
            raise Unreadable(
                f"{path.name} is {'a symbolic link' if is_link else 'not a folder'}",
                where=str(path),
                limit="a folder; nothing is written or removed through a link" if is_link else "a folder",
                fix=f"mv {shlex.quote(str(path))} elsewhere"
                + (", put the folder itself in its place" if is_link else "")
                + ", and run the same command again",
                path=str(path),
            )


def lack_of_room(folder: Path) -> tuple[str, str]:
    """What a full disk lacks, and what gives it: space, or inodes, of which each file takes one.

    Some file systems count no inodes, and Windows has no `statvfs`.
    """
    with suppress(OSError, AttributeError):
        found = os.statvfs(folder)
        if found.f_files and not found.f_favail:
            return "no inodes left", "remove some files from its disk"
    return "no space left", "free some space"


def refuse_broken_link(folder: Path) -> None:
    """Raises `MissingInput` for a link to nothing in the path of an output, behind which no folder can be made."""
    for each in (folder, *folder.parents):
        if each.is_symlink() and not each.exists():
            fact = f"{str(each)!r} is a link to {str(each.readlink())!r}, which does not exist"
            fix = ("make the link again, or name another ", Argument("output"))
            raise MissingInput(fact, fix=fix, path=str(each))


def not_written(path: Path, error: OSError, *, left: str = "") -> DiskFull | Unreadable:
    """The error for a file or folder that cannot be written, with what makes it writable; `left` follows the place."""
    where = str(path.parent) + left
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        fact, remedy = lack_of_room(path.parent)
        fix = f"{remedy}, and run the same command again; it continues"
        return DiskFull(f"{fact} while writing {path.name!r}", where=where, fix=fix, path=str(path))
    limits = {errno.EFBIG: "the size of a file (ulimit -f)", errno.EMFILE: "open files (ulimit -n)"}
    limit = limits.get(error.errno or 0)
    fix = (
        f"raise the limit on {limit}, and run the same command again; it continues"
        if limit
        else "make it and its folder writable (chmod u+w; chattr -i), or name a writable folder"
        if error.errno in (errno.EPERM, errno.EACCES)
        else "name a writable folder"
    )
    fact = f"cannot write {str(path)!r}: {error.strerror or error}"
    return Unreadable(fact, where=where, fix=fix, path=str(path), os_error=error.errno)


class FolderHandle:
    """A folder that is open, in which files are renamed and removed also where another one has taken its path.

    No other folder gets its inode meanwhile. Windows opens none, and renames none in use.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY) if hasattr(os, "O_DIRECTORY") else None
        self._status = path.stat() if self._descriptor is None else os.fstat(self._descriptor)

    @property
    def is_in_place(self) -> bool:
        """Whether the path is still that of this folder."""
        try:
            return os.path.samestat(self._status, self.path.stat())
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            # What is written next says what is wrong.
            return True

    def within(self, path: Path) -> tuple[Path, int | None]:
        """A path in this folder as calls of `os` take it: relative to a descriptor, or itself where none is open."""
        return (path, None) if self._descriptor is None else (path.relative_to(self.path), self._descriptor)

    def close(self) -> None:
        """Closes the folder, as its last reference does."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            self.close()


def check_in_place(handle: FolderHandle | None) -> None:
    """Raises `Unreadable` where a folder that is open was removed, renamed or replaced; None is in place."""
    if handle is not None and not handle.is_in_place:
        raise Unreadable(
            f"the folder {str(handle.path)!r} was removed or replaced while it was in use",
            where=str(handle.path.parent),
            fix="move it back if it was renamed, run the same command again, and leave it in its place",
            path=str(handle.path),
        )


@contextmanager
def locked(folder: Path) -> Iterator[FolderHandle | None]:
    """Holds the lock of a folder, which is made where it does not exist, and removed again if nothing was written.

    Gives the folder, open; None for a file in its place. Raises `OutputExists` while another process holds the lock,
    `DiskFull` or `Unreadable` where no file can be made, and `Unreadable` where a file fails because the folder was
    removed or replaced.
    """
    if folder.exists() and not folder.is_dir():
        # The caller says what is wrong with it.
        yield None
        return
    is_new = not folder.exists()
    file = None
    refuse_broken_link(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = _acquire(folder)
        handle = FolderHandle(folder)
    except OSError as error:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise not_written(folder, error) from error
    if file is None:
        raise OutputExists(
            f"another process writes the folder {str(folder)!r}",
            where=str(folder / LOCK),
            limit="one process at a time",
            fix="wait until it has ended, or name another folder with -o",
            path=str(folder),
        )

    def release() -> None:
        _release(file)
        if is_new and handle.is_in_place:
            with suppress(OSError):
                folder.rmdir()

    held = os.getpid(), release
    _releases.add(held)
    try:
        yield handle
    except OSError:
        check_in_place(handle)
        raise
    finally:
        _releases.discard(held)
        release()
        handle.close()


def release_all() -> None:
    """Releases the locks that this process holds, where it ends without `finally`, such as by a signal in an import."""
    for process, release in tuple(_releases):
        if process == os.getpid():
            release()


def is_locked(folder: Path) -> bool | None:
    """Whether a process holds the lock of a folder; None where the system cannot tell.

    The lock is shared for an instant, so that nothing is written; a process that begins just then is refused.
    """
    try:
        check_regular(folder / LOCK)
        import fcntl

        with (folder / LOCK).open("rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except ImportError:
        return None
    except Unreadable:
        return None
    except OSError as error:
        return True if error.errno in _HELD else None


def _acquire(folder: Path) -> IO[bytes] | None:
    """The locked file; None while another process holds the lock. Raises `OSError`."""
    path = folder / LOCK
    # A pipe would be waited for.
    check_regular(path)
    while True:
        file = path.open("ab")
        try:
            _lock(file)
        except OSError as error:
            file.close()
            if error.errno in _HELD:
                return None
            if path.parent != folder:
                raise
            # No locks here.
            path.unlink(missing_ok=True)
            path = _local_path(folder)
            continue
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        # The process that held it removed the file between opening and locking it.
        file.close()


def _local_path(folder: Path) -> Path:
    status = folder.stat()
    user = os.getuid() if hasattr(os, "getuid") else 0
    key = hashlib.sha256(f"{status.st_dev} {status.st_ino} {user}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"slm-{key}{LOCK}"


def _lock(file: IO[bytes]) -> None:
    """Locks an open file. Raises `OSError`, with a number of `_HELD` while another process holds it."""
    try:
        import fcntl
    except ImportError:
        msvcrt: Any = import_module("msvcrt")
        # It locks from the current position, and a locked byte cannot be read.
        os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        return
    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def _release(file: IO[bytes]) -> None:
    path = Path(file.name)
    try:
        # Where the folder was replaced, the file there is the lock of another process.
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                path.unlink()
    except PermissionError:
        # Windows removes no open file.
        file.close()
        with suppress(OSError):
            path.unlink()
    finally:
        file.close()
