"""Errors of the system and of Python on the command line: those that no function of ours raises."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from slmtok.atomic import REMEDIES, lack_of_room
from slmtok.checks import name_too_long
from slmtok.cli import streams
from slmtok.cli.arguments import value_after
from slmtok.cli.library_memory import LibraryTooLargeError
from slmtok.entry_point import NO_ADDRESS_SPACE
from slmtok.errors import DiskFull, InternalError, SlmtokError, Unreadable


def system_error(
    error: Exception, package: str, written: Sequence[str] = (), arguments: Sequence[str] = ()
) -> SlmtokError:
    """The error for an exception of Python or the system: a refusal of the system, or a fault of `package`.

    `written`: outputs of the command that are complete. `arguments`: those of the command.
    """
    if isinstance(error, FileNotFoundError) and "temporary directory" in str(error):
        fix = "free some space, or name another folder in the variable TMPDIR"
        return Unreadable("no folder for temporary files can be written", where="TMPDIR, /tmp, /var/tmp", fix=fix)
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        fact = f"no more files can be opened: {error.strerror}"
        return Unreadable(fact, fix=REMEDIES[errno.EMFILE], os_error=error.errno)
    # stdout is set to block, so that no write to it gives EAGAIN.
    is_process = isinstance(error, OSError) and error.errno == errno.EAGAIN and error.filename is None
    if is_process or (isinstance(error, RuntimeError) and "start new thread" in str(error)):
        limits = "the limits on memory or processes (ulimit -v, ulimit -u, pids.max of the container)"
        fix = f"raise {limits}{_fewer_threads(arguments)}"
        return Unreadable(f"the system starts no more {'processes' if is_process else 'threads'}", fix=fix)
    if isinstance(error, OSError) and error.filename is None:
        # Functions that read or write files add the file name; an error without one comes from stdout.
        return stdout_error(error, written)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        fact, remedy = lack_of_room(Path(os.fsdecode(error.filename)).parent)
        fix = f"{remedy}, then run the same command again"
        return DiskFull(f"{fact} while writing {error.filename!r}", where=str(error.filename), fix=fix)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return name_too_long(os.fsdecode(error.filename))
    if isinstance(error, OSError):
        closed = _closed_folder(os.fsdecode(error.filename)) if error.errno == errno.EACCES else None
        return Unreadable(
            f"cannot use {(closed or error.filename)!r}: {error.strerror or error}",
            where=str(error.filename),
            fix=f"chmod u+rx {shlex.quote(closed)}, as its owner" if closed else "check its name and permissions",
            os_error=error.errno,
        )
    if isinstance(error, LibraryTooLargeError):
        return error.error
    unloaded = NO_ADDRESS_SPACE.search(str(error)) if isinstance(error, ImportError) else None
    if unloaded or isinstance(error, MemoryError):
        fix = "free memory, raise its limit (ulimit -v), or give less at a time"
        return Unreadable(f"not enough memory{f': {unloaded[0]}' if unloaded else ''}", fix=fix)
    if isinstance(error, OverflowError) and "timestamp too large" in str(error):
        # `time.time` of Python counts nanoseconds in 64 bits; modules of Python call it while they are imported.
        fact = "the clock of this machine is past the year 2262, which Python cannot read"
        return Unreadable(fact, where="the system clock", limit="2262-04-11", fix="set the clock, then run it again")
    return InternalError(
        f"unexpected {type(error).__name__}: {error}",
        limit=f"this is a fault of {package}, not of your input",
        fix="run it again with --traceback and report what it prints",
    )


def _fewer_threads(arguments: Sequence[str]) -> str:
    """What makes a command start fewer threads, and the libraries that it loads; nothing where both have one."""
    if os.environ.get("OMP_NUM_THREADS") != "1":
        return ", or use fewer threads: OMP_NUM_THREADS=1"
    words = [part for word in arguments for part in word.split("=", 1)]
    return "" if value_after(("--threads",), words) == "1" else ", or use fewer threads"


def _closed_folder(path: str) -> str | None:
    """The outermost folder above a path whose entries this user may not reach; None where all are open."""
    folders = reversed(Path(path).parents)
    return next((str(folder) for folder in folders if folder.is_dir() and not os.access(folder, os.X_OK)), None)


def stdout_error(error: OSError, written: Sequence[str] = ()) -> SlmtokError:
    """The error for a failed write to stdout, which is discarded from now on. `written`: as in `system_error`."""
    streams.discard_stdout()
    complete = f"{' and '.join(map(repr, written))} {'is' if len(written) == 1 else 'are'} complete"
    where = f"stdout; {complete}" if written else "stdout"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        fix = "free some space, or write to another disk"
        return DiskFull("no space left while writing to stdout", where=where, fix=fix)
    is_too_large = error.errno == errno.EFBIG
    return Unreadable(
        f"cannot write to stdout: {error.strerror or error}",
        where=where,
        fix=REMEDIES[errno.EFBIG] if is_too_large else "send stdout to a file or to another program, or to /dev/null",
        os_error=error.errno,
    )
