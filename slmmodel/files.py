"""Files of a run: written beside their place, synced and renamed; read, written and summed with errors of this package.

With the `handle` of a folder, files are written, renamed and removed within that folder, also where another one has
taken its path meanwhile, so nothing in the other one is written, replaced or removed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import IO, Any

from slmmodel.errors import DiskFull, Unreadable
from slmmodel.folder_lock import FolderHandle, check_in_place, not_written

PART = re.compile(r"\..+\.\d+\.part")
"""The temporary name of a file that is being written, or of a folder of files that are being removed, with the number
of the process."""

KEPT = ".kept"
"""Ends the name of a folder of ours that held other files when its own were removed."""


def new_name(run: Path) -> str:
    """A name for a new run beside another, which nothing has: `run-2`; quoted for a shell."""
    names = (f"{run}-{number}" for number in count(2))
    return shlex.quote(next(name for name in names if not os.path.lexists(name)))


def write_file(path: Path, data: bytes, handle: FolderHandle | None = None, part: Path | None = None) -> None:
    """Writes one file atomically and durably; `part` is its temporary name. Raises `DiskFull`, `Unreadable`."""
    part = part or path.with_name(f".{path.name}.{os.getpid()}.part")
    with translated_errors(path, part, handle):
        write_synced(part, data, handle)
        rename(part, path, handle)
        sync(path.parent)


def _within(path: Path, handle: FolderHandle | None) -> tuple[Path, int | None]:
    return (path, None) if handle is None else handle.within(path)


def open_file(path: Path, mode: str, handle: FolderHandle | None = None) -> IO[Any]:
    """Opens a file. Raises `OSError`."""
    name, folder = _within(path, handle)
    return open(name, mode, opener=lambda file, flags: os.open(file, flags, 0o666, dir_fd=folder))


def rename(source: Path, target: Path, handle: FolderHandle | None = None) -> None:
    """Renames a file or folder, and replaces a file. Raises `OSError`."""
    (old, folder), (new, _) = _within(source, handle), _within(target, handle)
    os.replace(old, new, src_dir_fd=folder, dst_dir_fd=folder)


def remove_file(path: Path, handle: FolderHandle | None = None) -> None:
    """Removes a file if it exists. Raises `OSError`."""
    name, folder = _within(path, handle)
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def remove_folder(path: Path, handle: FolderHandle | None = None) -> None:
    """Removes a folder with all that is in it; Python 3.10 finds it by its path. Raises `OSError`."""
    name, folder = _within(path, handle)
    if folder is None or sys.version_info < (3, 11):
        shutil.rmtree(path)
    else:
        shutil.rmtree(name, dir_fd=folder)


def make_folder(path: Path, handle: FolderHandle | None = None) -> None:
    """Makes a folder, with those between that do not exist. Raises `OSError`."""
    name, folder = _within(path, handle)
    if folder is None:
        path.mkdir(parents=True)
        return
    for each in reversed(name.parents[:-1]):
        with suppress(FileExistsError):
            os.mkdir(each, dir_fd=folder)
    os.mkdir(name, dir_fd=folder)


def remove(path: Path, handle: FolderHandle | None = None) -> None:
    """Removes a file, a folder or a link, which is not followed, if it exists. Raises `OSError`."""
    with suppress(FileNotFoundError):
        (remove_folder if path.is_dir() and not path.is_symlink() else remove_file)(path, handle)


def remove_all(folder: Path, entries: Sequence[Path], handle: FolderHandle | None = None) -> None:
    """Removes entries of a folder and its subfolders in this order: all of them, or none where one cannot be removed.

    Each file is first renamed into a new folder, which needs the permissions of removing it; where that fails, all are
    renamed back. Folders, listed before their content, are removed last; those with other files stay. Raises
    `Unreadable`.
    """
    if not entries:
        return
    names = (f".removed-{number}.{os.getpid()}.part" for number in count())
    aside = next(path for path in map(folder.joinpath, names) if not os.path.lexists(path))
    folders = [path for path in entries if is_folder(path)]
    moved = list[tuple[Path, Path]]()
    with removing(aside, handle):
        make_folder(aside, handle)
    try:
        for file in (path for path in entries if not is_folder(path)):
            target = aside / str(len(moved))
            with removing(file, handle):
                rename(file, target, handle)
            moved.append((file, target))
    except BaseException:
        with suppress(OSError):
            for file, target in reversed(moved):
                rename(target, file, handle)
            aside.rmdir()
        raise
    for path in reversed(folders):
        with removing(path, handle):
            remove_if_empty(path, handle)
    with removing(aside, handle):
        remove(aside, handle)


def is_folder(path: Path) -> bool:
    """Whether a path is a folder and no link to one."""
    return path.is_dir() and not path.is_symlink()


def remove_if_empty(path: Path, handle: FolderHandle | None = None) -> None:
    """Removes a folder unless it holds something. Raises `OSError`."""
    name, folder = _within(path, handle)
    try:
        os.rmdir(name, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def discard(folder: Path, is_own: Callable[[str], bool], handle: FolderHandle | None = None) -> None:
    """Removes the files of a folder whose names are ours, and the folder, if it exists.

    It is renamed first, so that it never looks complete when half of it is gone. With other files it becomes
    `NAME.kept`. Raises `OSError` where it cannot be renamed.
    """
    aside = folder.with_name(f"{folder.name}.old.tmp")
    with suppress(FileNotFoundError):
        # A folder is not renamed to a link, nor to a folder that holds files.
        clear(aside, is_own, handle)
        rename(folder, aside, handle)
        with suppress(OSError):
            clear(aside, is_own, handle)


def clear(leftover: Path, is_own: Callable[[str], bool], handle: FolderHandle | None = None) -> None:
    """Removes a link, a file, or a folder whose files are ours; one with other files gets a name that nothing removes.

    Raises `OSError`.
    """
    if not is_folder(leftover):
        remove_file(leftover, handle)
        return
    for path in leftover.iterdir():
        if is_own(path.name) and not is_folder(path):
            remove_file(path, handle)
    remove_if_empty(leftover, handle)
    if leftover.is_dir():
        kept = leftover.with_name(leftover.name.removesuffix(".tmp").removesuffix(".old") + KEPT)
        names = chain([kept], (Path(f"{kept}-{number}") for number in count(2)))
        rename(leftover, next(path for path in names if not os.path.lexists(path)), handle)


def remove_parts(folder: Path, handle: FolderHandle | None = None) -> None:
    """Removes temporary files and folders that `write_file` and `remove_all` have left. The caller holds the lock."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if PART.fullmatch(path.name):
            remove(path, handle)


def write_synced(path: Path, data: bytes, handle: FolderHandle | None = None) -> None:
    """Writes a file in place and syncs it. Raises `OSError`."""
    with open_file(path, "wb", handle) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Syncs the content of a file, or the entries of a folder, where the system can open one (Windows cannot)."""
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):
        return
    # Windows syncs only files that are open for writing.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Network mounts and others sync no folder.
        if not (path.is_dir() and error.errno in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)):
            raise
    finally:
        os.close(descriptor)


@contextmanager
def translated_errors(path: Path, part: Path | None = None, handle: FolderHandle | None = None) -> Iterator[None]:
    """Raises a failed write of `path` as `DiskFull` or `Unreadable`, and removes its temporary file or folder.

    A folder of the same name in another folder that has taken the place of `handle` stays.
    """
    try:
        yield
    except BaseException as error:
        if part is not None and part.is_dir():
            if handle is None or handle.is_in_place:
                shutil.rmtree(part, ignore_errors=True)
        elif part is not None:
            # The first failure is the one to report.
            with suppress(OSError):
                remove_file(part, handle)
        if isinstance(error, (DiskFull, Unreadable)) or not isinstance(error, OSError):
            raise
        check_in_place(handle)
        raise not_written(path, error, left="; no part of it was left" if part is not None else "") from error


@contextmanager
def removing(path: Path, handle: FolderHandle | None = None) -> Iterator[None]:
    """Raises a failed removal of `path` as `Unreadable`; calls within a folder that is open name no folder."""
    try:
        yield
    except OSError as error:
        check_in_place(handle)
        fact = f"cannot remove {str(path)!r}: {error.strerror or error}"
        fix = "make it and its folder writable (chmod u+w; chattr -i), and run the same command again"
        raise Unreadable(fact, where=str(path.parent), fix=fix, path=str(path)) from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises a failed read of `path` as `Unreadable`; a missing file stays `FileNotFoundError`."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        fact = f"cannot read {path.name}: {error.strerror or error}"
        raise Unreadable(fact, where=str(path), fix="check the file and its disk", path=str(path)) from error


def resolved(path: str | os.PathLike[str]) -> Path:
    """The path without symbolic links. Raises `Unreadable` for links that lead back to themselves.

    Before 3.13, `Path.resolve` of Python raises `RuntimeError` for them; later it leaves them as they are.
    """
    place = Path(path)
    for each in (place, *place.parents):
        if each.is_symlink() and _is_loop(each):
            raise Unreadable(
                f"{str(each)!r} is a symbolic link that leads back to itself",
                where=f"it is a link to {str(each.readlink())!r}",
                fix="remove the link, or put the file or folder itself in its place",
                path=str(each),
            )
    return Path(os.path.realpath(place))


def _is_loop(link: Path) -> bool:
    try:
        link.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def read_file(path: Path, max_bytes: int = -1) -> bytes:
    """The bytes of a file, or the first `max_bytes` of them. Raises `Unreadable`, and `FileNotFoundError`."""
    with reading(path), path.open("rb") as file:
        # Python allocates as many bytes as it is asked for, and the number may come from an edited file.
        return file.read(min(max_bytes, os.fstat(file.fileno()).st_size) if max_bytes > 0 else max_bytes)


def sha256_of(path: Path, on_read: Callable[[int], None] | None = None) -> str:
    """The SHA-256 of a file, in hexadecimal. on_read: called with the number of bytes of each chunk.

    Raises `Unreadable`.
    """
    digest = hashlib.sha256()
    with reading(path), path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            if on_read is not None:
                on_read(len(chunk))
    return digest.hexdigest()
