"""What Windows does otherwise, simulated on Linux: `python -m windows_rules COMMANDS` runs commands under these rules.

* No `fcntl`, `resource`, `termios`, `pwd`, `grp`; no `O_DIRECTORY`, `fork`, CPU affinity, `SIGUSR1`; no /proc, no /sys.
* A file that this process has open or mapped cannot be removed, renamed or replaced; nor can its folder.
* `rename` does not replace a file, no folder can be opened, `fsync` needs a file that is open for writing.
* A lock is `msvcrt.locking`; no symbolic link can be created.

COMMANDS is a JSON list of argument lists, each with `slmtok` or `slm` first, and the exit status that is expected last.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import shutil
import signal
import subprocess  # before the rules: it decides by the presence of msvcrt
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

with suppress(ImportError):
    # transformers imports it where it is installed; it decides by sys.platform.
    import psutil  # noqa: F401

MISSING_MODULES = ("fcntl", "resource", "termios", "pwd", "grp")
MISSING_NAMES: tuple[tuple[Any, str], ...] = (
    (os, "O_DIRECTORY"),
    (os, "fork"),
    (os, "sched_getaffinity"),
    (os, "sched_setaffinity"),
    (os, "sysconf"),
    (os, "getuid"),
    (signal, "SIGUSR1"),
)
_readlink, _listdir = os.readlink, os.listdir
_open, _io_open = os.open, io.open


def files_in_use() -> set[str]:
    """Real paths of the regular files that this process has open or mapped."""
    found = set()
    for number in _listdir("/proc/self/fd"):
        try:
            found.add(_readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    with _io_open("/proc/self/maps", encoding="utf-8") as maps:
        found |= {fields[5].strip() for fields in (line.split(maxsplit=5) for line in maps) if len(fields) == 6}
    return found


def _check_free(path: Any) -> None:
    real = os.path.realpath(path)
    for used in files_in_use():
        if used == real or used.startswith(real + os.sep):
            raise PermissionError(errno.EACCES, "the file is being used by this process (WinError 32)", used)


def _guarded(call: Callable[..., Any], n_paths: int, *, replaces: bool = True) -> Callable[..., Any]:
    def guarded(*paths: Any, **keywords: Any) -> Any:
        for path in paths[:n_paths]:
            _check_free(path)
        if not replaces and Path(paths[1]).exists():
            raise FileExistsError(errno.EEXIST, "the target exists (WinError 183)", str(paths[1]))
        return call(*paths, **keywords)

    return guarded


def _hidden(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that opens: /proc and /sys do not exist, and a folder cannot be opened."""

    def guarded(path: Any, *others: Any, **keywords: Any) -> Any:
        if isinstance(path, (str, os.PathLike)):
            name = os.fspath(path)
            if str(name).startswith(("/proc/", "/sys/")):
                raise FileNotFoundError(errno.ENOENT, "no such file", name)
            if Path(os.fsdecode(name)).is_dir():
                raise PermissionError(errno.EACCES, "a folder cannot be opened", name)
        return call(path, *others, **keywords)

    return guarded


def _msvcrt() -> ModuleType:
    """Locks of one process: a byte of a file is locked once."""
    import fcntl

    module: Any = ModuleType("msvcrt")
    module.LK_NBLCK = 2

    def locking(descriptor: int, mode: int, count: int) -> None:
        assert mode == module.LK_NBLCK and count == 1
        assert os.lseek(descriptor, 0, os.SEEK_CUR) > os.fstat(descriptor).st_size, "a locked byte cannot be read"
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    module.locking = locking
    return module  # type: ignore[no-any-return]


def _fsync() -> Callable[[int], None]:
    import fcntl

    call = os.fsync

    def fsync(descriptor: int) -> None:
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "fsync of a file that is open for reading")
        call(descriptor)

    return fsync


def _no_symlink(*paths: Any, **keywords: Any) -> None:
    raise OSError(errno.EPERM, "a required privilege is not held (WinError 1314)")


def apply() -> None:
    """Puts the rules in force for the rest of this process."""
    sys.modules["msvcrt"] = _msvcrt()
    os.fsync = _fsync()
    for module in MISSING_MODULES:
        sys.modules[module] = None  # type: ignore[assignment]
    for owner, name in MISSING_NAMES:
        delattr(owner, name)
    # By paths, as on Windows, so that every removal passes here.
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    os.unlink = os.remove = _guarded(os.unlink, 1)
    os.rmdir = _guarded(os.rmdir, 1)
    os.rename = _guarded(os.rename, 2, replaces=False)
    os.replace = _guarded(os.replace, 2)
    os.open = _hidden(os.open)
    builtins.open = io.open = _hidden(io.open)  # type: ignore[assignment]
    os.symlink = _no_symlink


needs_linux = pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info < (3, 11), reason="reads /proc; patches os"
)


def run(commands: Sequence[Sequence[str | int]], folder: Path) -> str:
    """Runs COMMANDS in a folder in a process of its own, and returns what they printed."""
    paths = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "windows_rules", json.dumps(commands)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def main() -> None:
    """Runs the commands of the first argument, then checks that no temporary file is left below the folder."""
    apply()
    commands = json.loads(sys.argv[1])
    if any(name == "slm" for name, *_ in commands):
        from slmmodel.accel import cpu

        cpu._libc = lambda name, *arguments: 0
    for name, *arguments, status in commands:
        package = {"slmtok": "slmtok.cli", "slm": "slmmodel.cli"}[name]
        code = import_module(package).main(arguments)
        sys.stdout.flush()
        assert code == status, f"{name} {arguments}: status {code}, not {status}"
    left = [str(path) for path in Path().rglob("*") if path.name.endswith((".part", ".tmp", ".work"))]
    assert left == [], left


if __name__ == "__main__":
    main()
