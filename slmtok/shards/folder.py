"""The output folder of a run: ownership, removal of old files, atomic writes, and failures of its disk.

Only files with names of the format are ever removed.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from slmtok import atomic
from slmtok.errors import DiskFull, OutputExists, Setting, SlmtokError, Unreadable
from slmtok.shards.format import JOURNAL, MANIFEST, PLAN, SPLITS, TOKENIZER, VOCAB, is_shard_file, is_subset, shard_name
from slmtok.shards.journal import State, sync_folder

_FORMAT_FILES = {MANIFEST, PLAN, JOURNAL, VOCAB, TOKENIZER}


def make(folder: Path) -> None:
    """Creates the folder, and those above it. Raises `OutputExists` where a file has its name."""
    if folder.exists() and not folder.is_dir():
        raise OutputExists(f"output {str(folder)!r} is a file", fix="name a folder, or a new one", path=str(folder))
    folder.mkdir(parents=True, exist_ok=True)


def is_own_file(name: str) -> bool:
    """Whether `pack` writes files or folders of this name."""
    return name in _FORMAT_FILES or is_shard_file(name) or is_subset(name)


def refuse_files(folder: Path, *, allow_own: bool = False) -> None:
    """Raises `OutputExists` for a folder with files; hidden ones, and with `allow_own` those of `pack`, are ignored."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    others = [name for name in names if not (name.startswith(".") or (allow_own and is_own_file(name)))]
    if others:
        raise OutputExists(
            f"the folder {str(folder)!r} holds other files, such as {others[0]!r}",
            fix="name a new folder",
            path=str(folder),
        )


def finished(folder: Path) -> OutputExists:
    """The error for a folder that is complete."""
    return OutputExists(
        f"output {str(folder)!r} already holds packed data",
        fix=(Setting("force", True), " to replace it, or name another ", Setting("output")),
        path=str(folder),
    )


def wipe(folder: Path) -> None:
    """Removes what an earlier run left, the manifest first, so that a half-removed folder is not complete."""
    for name in (MANIFEST, PLAN, VOCAB, TOKENIZER):
        (folder / name).unlink(missing_ok=True)
    for path in sorted(folder.iterdir()):
        if is_shard_file(path.name):
            path.unlink()
        elif is_subset(path.name) and path.is_dir():
            wipe(path)
            with suppress(OSError):
                # Other files stay, and the folder with them.
                path.rmdir()
    if (folder / JOURNAL).exists():
        os.truncate(folder / JOURNAL, 0)


def discard(folder: Path) -> None:
    """Removes what a run without a result left, and the folder, if nothing else lies in it."""
    wipe(folder)
    (folder / JOURNAL).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def remove_unknown(folder: Path, state: State) -> None:
    """Removes the files of shards that the journal does not know."""
    known = {shard["name"] for shard in state.shards}
    known |= {shard_name(split, len(state.closed(split))) for split in SPLITS if state.open[split].docs}
    for path in sorted(folder.iterdir()):
        if is_shard_file(path.name) and path.name.partition(".")[0] not in known:
            path.unlink()


def replace(path: Path, data: bytes) -> None:
    """Writes a file atomically; it is durable when this returns."""
    atomic.write(path, data, force=True)
    sync_folder(path.parent)


def explained(error: OSError, folder: Path, state: State, bytes_left: int | None) -> SlmtokError:
    """A failure of the disk as an error with a fix. bytes_left: an estimate of the bytes still to be written."""
    name = str(folder)
    if isinstance(error, SlmtokError):
        return error
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        large = error.errno == errno.EFBIG
        remedy = "raise the limit on the size of a file (ulimit -f)" if large else "make the folder writable"
        return Unreadable(
            f"cannot write to {name!r}: {error.strerror or error}",
            where=str(error.filename or name),
            fix=f"{remedy}, then run the same command again to resume",
            path=name,
            os_error=error.errno,
        )
    free = 0
    with suppress(OSError):
        free = shutil.disk_usage(folder).free
    docs = sum(state.totals(split).docs for split in SPLITS)
    room = f"about {bytes_left / (1 << 30):.1f} GiB" if bytes_left else "some space"
    return DiskFull(
        f"no space left while writing shard {len(state.shards)} (free {free / (1 << 20):,.0f} MiB)",
        where=f"{name}; {len(state.shards)} shards are complete, and a partial shard is never read",
        fix=f"free {room}, then run the same command again; it resumes at document {docs:,}",
        path=name,
        document=docs,
    )
