"""Systems without POSIX: the commands under the rules of Windows, and each fallback by itself."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import windows_rules

import slmtok
from slmtok import atomic
from slmtok.bench import comparison
from slmtok.shards.journal import Journal, sync_folder
from slmtok.shards.run import physical_cores
from slmtok.training import memory

PACK = ["slmtok", "pack", "c.txt", "-t", "tok.json", "--separator", "\n\n", "--val", "hash:10%"]
COMMANDS: list[list[str | int]] = [
    ["slmtok", "sample-corpus", "--bytes", "200kB", "-o", "c.txt", 0],
    ["slmtok", "count", "c.txt", "-o", "c.counts", 0],
    ["slmtok", "train", "c.counts", "--vocab", "600", "-o", "tok.json", 0],
    ["slmtok", "train", "c.counts", "--vocab", "500", "-o", "tok.json", 1],
    ["slmtok", "train", "c.txt", "--vocab", "500", "-o", "tok.json", "--force", 0],
    ["slmtok", "encode", "c.txt", "-t", "tok.json", "-o", "ids.npy", "--output-format", "npy", 0],
    ["slmtok", "decode", "ids.npy", "-t", "tok.json", "-o", "again.txt", 0],
    [*PACK, "-o", "data", "--max-bytes", "100kB", 0],
    [*PACK, "-o", "data", 1],
    [*PACK, "-o", "data", "--force", "--subset", "10", 0],
    [*PACK, "-o", "nano", "--output-format", "nanogpt", 0],
    [*PACK, "-o", "nano", "--output-format", "nanogpt", "--force", 0],
    ["slmtok", "export", "tok.json", "--output-format", "hf", "-o", "hf", "--no-verify", 0],
    ["slmtok", "export", "tok.json", "--output-format", "hf", "-o", "hf", "--no-verify", "--force", 0],
]


@windows_rules.needs_linux
def test_commands_under_the_rules_of_windows(tmp_path: Path) -> None:
    windows_rules.run(COMMANDS, tmp_path)
    assert (tmp_path / "again.txt").read_bytes() == (tmp_path / "c.txt").read_bytes()


def test_a_folder_is_locked_without_fcntl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked: set[int] = set()

    class Msvcrt:
        LK_NBLCK = 2

        @staticmethod
        def locking(descriptor: int, mode: int, count: int) -> None:
            assert (mode, count) == (2, 1)
            # A locked byte cannot be read by other processes, so it lies beyond the end of the journal.
            assert os.lseek(descriptor, 0, os.SEEK_CUR) > 1 << 20
            if os.fstat(descriptor).st_ino in locked:
                raise PermissionError
            locked.add(os.fstat(descriptor).st_ino)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt)
    first, second = Journal(tmp_path), Journal(tmp_path)
    assert (first.held, second.held) == (False, True)
    first.close(), second.close()


def test_a_folder_is_not_opened_where_the_system_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    sync_folder(tmp_path / "missing")


@pytest.mark.skipif(os.name != "posix", reason="asks for processes by signal 0, as on macOS")
def test_temporary_files_without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """macOS says whether a process runs; Windows does not, so its files are kept."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert atomic._start_time(os.getpid()) == "0"
    assert atomic._start_time(ended.pid) is None
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        assert atomic._start_time(ended.pid) == "0"
    part = atomic.temporary_path(tmp_path / "tok.json")
    part.touch()
    atomic.remove_stale(tmp_path / "tok.json")
    assert part.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces, and /proc")
def test_temporary_files_of_processes_that_cannot_be_seen_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of another container with the same name, and where /proc shows no process of another user."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    parts = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: ended.pid)
        parts.append(atomic.temporary_path(tmp_path / "a"))
        patch.setattr(os, "readlink", {"/proc/self/ns/pid": "pid:[1]", "/proc/self": str(ended.pid)}.__getitem__)
        parts.append(atomic.temporary_path(tmp_path / "a"))
    parts.append(atomic.temporary_path(tmp_path / "a"))
    for part in parts:
        part.touch()

    def missing(path: Path, *options: object, **keywords: object) -> str:
        raise FileNotFoundError(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", missing)
        atomic.remove_stale(tmp_path / "a")
    assert [part.exists() for part in parts] == [False, True, True]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_process_that_nobody_waited_for_has_ended() -> None:
    with subprocess.Popen(["sleep", "60"]) as running:
        assert atomic._start_time(running.pid) not in (None, "0")
        running.kill()
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        assert atomic._start_time(running.pid) is None


def test_memory_and_processor_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: Path, *options: object, **keywords: object) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert memory.free_memory() is None
    assert memory.resident_memory() is None
    assert (memory.peak_memory() or 0) > 1 << 20
    assert comparison.processor()
    assert physical_cores() == (os.cpu_count() or 1)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory.peak_memory() is None


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="Windows opens no folders")
@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EIO])
def test_a_file_system_that_syncs_no_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    from slmmodel.files import sync

    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    (tmp_path / "a.txt").write_text("the cat sat on the mat\n" * 90)
    tok = slmtok.train(tmp_path / "a.txt", vocab_size=280)
    if number == errno.EIO:
        # A fault of the disk is no property of the file system.
        with pytest.raises(OSError, match=os.strerror(number)):
            sync_folder(tmp_path)
        with pytest.raises(OSError, match=os.strerror(number)):
            sync(tmp_path)
    else:
        sync_folder(tmp_path)
        sync(tmp_path)
        assert slmtok.pack(tmp_path / "a.txt", tok, tmp_path / "data", val="none").out.is_dir()
