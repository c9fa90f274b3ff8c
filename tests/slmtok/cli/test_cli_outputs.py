"""Outputs of commands: never over an input, found unwritable before the work, told by their own name when full."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import slmtok as package
from slmmodel.folder_lock import not_written
from slmtok import atomic
from slmtok.cli import streams
from slmtok.cli.system_errors import system_error
from slmtok.errors import DiskFull, MissingInput, OptionError, OutputExists, Unreadable, WrongType
from slmtok.id_arrays import write_npy
from slmtok.shards.folder import explained
from slmtok.shards.journal import State


@pytest.fixture
def folder(tmp_path, tok):
    """A tokenizer, texts and ids that could be destroyed."""
    (tmp_path / "tok.json").write_bytes(Path(tok).read_bytes())
    (tmp_path / "r.txt").write_text("hello\n")
    (tmp_path / "d").mkdir()
    for name in ("a", "b"):
        (tmp_path / "d" / f"{name}.txt").write_text("once upon a time")
    np.save(tmp_path / "q.npy", np.array([300, 301], np.uint16))
    np.save(tmp_path / "q.npy.offsets.npy", np.array([0, 2]))
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "encode d/a.txt -t tok.json -o tok.json",
        "encode d/*.txt -t tok.json -o d/a.txt",
        "encode d -t tok.json -o d/b.txt",
        "encode d/a.txt -t tok.json --output-format npy -o ./d/a.txt",
        "decode q.npy -t tok.json -o tok.json",
        "decode q.npy -t tok.json -o q.npy",
        "decode q.npy -t tok.json -o q.npy.offsets.npy",
        "train d --vocab 280 --require r.txt -o r.txt",
        "train d --vocab 280 -o d/a.txt",
        "vocab tok.json -o tok.json",
    ],
)
def test_an_input_is_never_replaced(slmtok, folder, line):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ran = slmtok(*line.split(), "--force")
    assert ran.code == 2
    assert " is also the input\n" in ran.err and "fix:   name another --output" in ran.err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_an_offsets_file_beside_the_ids_may_be_an_input_too(slmtok, folder):
    (folder / "x.bin.offsets.npy").write_text("text to encode")
    ran = slmtok("encode", "x.bin.offsets.npy", "-t", "tok.json", "--output-format", "bin", "-o", "x.bin", "--force")
    assert ran.code == 2 and (folder / "x.bin.offsets.npy").read_text() == "text to encode"


def test_encode_files_does_not_replace_its_input(folder):
    tokenizer = package.load(folder / "tok.json")
    paths = [folder / "d" / "a.txt", folder / "d" / "b.txt"]
    with pytest.raises(OptionError, match="is also the input"):
        tokenizer.encode_files(paths, folder / "d" / "b.txt", force=True)
    (folder / "d" / "link").hardlink_to(paths[0])
    with pytest.raises(OptionError, match="is also the input"):
        tokenizer.encode_files(paths, folder / "d" / "link", force=True)
    assert paths[0].read_text() == "once upon a time"


def test_only_regular_files_are_replaced(folder):
    tokenizer = package.load(folder / "tok.json")
    os.mkfifo(folder / "pipe")
    for target in (folder / "pipe", Path("/dev/null")):
        with pytest.raises(OutputExists, match="is not a regular file"):
            tokenizer.save(target, force=True)
        assert target.exists() and not target.is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="the links of /proc")
def test_a_link_to_an_open_file_is_not_replaced(folder):
    """It is what /dev/stdout is, also where stdout is a regular file."""
    tokenizer, link = package.load(folder / "tok.json"), folder / "out"
    with (folder / "redirected").open("w") as file:
        link.symlink_to(f"/proc/self/fd/{file.fileno()}")
        for target in (link, Path(f"/dev/fd/{file.fileno()}")):
            with pytest.raises(OutputExists, match="is not a regular file"):
                tokenizer.save(target, force=True)
    assert link.is_symlink()


def test_a_working_folder_that_was_removed_is_named(folder, monkeypatch):
    tokenizer = package.load(folder / "tok.json")
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    with pytest.raises(MissingInput, match="the working folder was removed"):
        tokenizer.save("new.json")


def test_names_that_no_file_can_have(folder):
    for target, kind in ((5, WrongType), ("a\0b", OptionError), ("x" * 300, Unreadable)):
        with pytest.raises(kind), atomic.outputs(target):
            pass
    with pytest.raises(Unreadable, match="shorter name"):
        atomic.check_outputs("x" * 300)


@pytest.mark.parametrize("name", ["x" * 256, f"a/{'é' * 128}/b"])
def test_a_name_that_is_too_long_is_blamed_itself(slmtok, corpus, name):
    """Commands look for a file in the folder of the output, which the user has not named."""
    Path("a").mkdir()
    slmtok("train", "corpus.txt", "--vocab", 300, "-o", "tok.json")
    for line in (["pack", "corpus.txt", "-t", "tok.json"], ["train", "corpus.txt", "--vocab", 300], ["sample-corpus"]):
        ran = slmtok(*line, "-o", name)
        assert ran.code == 1
        letter = "x" if name[0] == "x" else "é"
        assert ran.err.startswith(f"error: the name '{letter * 40}…' is too long: 256 bytes\n"), ran.err
        assert ran.err.endswith("  fix:   give it a shorter name\n")


def test_a_clock_that_python_cannot_read_is_named():
    error = system_error(OverflowError("timestamp too large to convert to C _PyTime_t"), "slmtok")
    assert isinstance(error, Unreadable) and error.limit == "2262-04-11"


def test_a_process_that_does_not_start_is_no_fault_of_stdout():
    error = system_error(BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "slmtok")
    assert error.fact == "the system starts no more processes" and "ulimit -u" in error.fix


def test_the_limit_on_the_size_of_stdout_is_named(monkeypatch):
    monkeypatch.setattr(streams, "discard_stdout", lambda: None)
    error = system_error(OSError(errno.EFBIG, "File too large"), "slmtok")
    assert error.fact == "cannot write to stdout: File too large"
    assert error.fix == "raise the limit on the size of a file (ulimit -f)"


def test_the_folder_that_is_closed_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "a b"
    folder.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder)
    denied = PermissionError(errno.EACCES, "Permission denied", str(folder / "in/manifest.json"))
    error = system_error(denied, "slmtok")
    assert error.fact == f"cannot use {str(folder)!r}: Permission denied"
    assert error.fix == f"chmod u+rx '{folder}', as its owner"
    denied.filename = str(tmp_path / "x.json")
    assert system_error(denied, "slmtok").fix == "check its name and permissions"


def test_a_command_with_an_output_runs_in_one_process(slmtok, monkeypatch):
    """Each process of torchrun would write the same output."""
    for name, value in {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    ran = slmtok("sample-corpus", "-o", "a.txt")
    assert ran.code == 2 and not Path("a.txt").exists()
    assert "slmtok sample-corpus runs in one process, and torchrun started 2\n" in ran.err
    assert "starts it by env -u LOCAL_RANK slmtok sample-corpus\n  fix:   slmtok sample-corpus -o a.txt\n" in ran.err
    monkeypatch.delenv("LOCAL_RANK")
    assert slmtok("sample-corpus", "-o", "b.txt", "--bytes", "10kB").code == 0
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert slmtok("sample-corpus", "-o", "a.txt", "--bytes", "10kB").code == 0


def test_an_unwritable_folder_is_found_before_the_work(slmtok, folder):
    read = []
    with pytest.raises(Unreadable, match=r"cannot write '/proc/x\.json'") as caught, atomic.outputs("/proc/x.json"):
        read.append(1)
    assert read == [] and "/proc" in caught.value.where and caught.value.fix
    ran = slmtok("train", "d", "--vocab", "280", "-o", "/proc/x.json")
    assert ran.code == 1
    assert ran.err.startswith("error: cannot write '/proc/x.json': ")
    assert "Traceback" not in ran.err and "read" not in ran.err


def test_the_first_fault_is_the_one_that_is_told(folder, monkeypatch):
    def refuse(self, missing_ok=False):
        raise PermissionError(errno.EROFS, "Read-only file system")

    with pytest.raises(Unreadable, match="Input/output error"), atomic.outputs(folder / "new"):
        monkeypatch.setattr(Path, "unlink", refuse)
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_the_engines_full_disk_names_the_output(folder, number):
    output = atomic.outputs(folder / "ids.bin")
    with pytest.raises(DiskFull, match=r"no space left while writing 'ids\.bin'") as caught, output as (part,):
        raise Unreadable(f"cannot write {part}: no space", path=str(part), os_error=number)
    assert ".part" not in str(caught.value)
    with pytest.raises(Unreadable, match="no file of texts"), atomic.outputs(folder / "ids.bin"):
        raise Unreadable("no file of texts", path="a.txt", os_error=errno.EACCES)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("target", ["lost", "link"])
def test_a_folder_behind_a_broken_link_is_not_made(slmtok, folder, monkeypatch, target):
    """`mkdir -p link` was said, and that a link is a file; both led to the same error."""
    monkeypatch.chdir(folder)
    Path("link").symlink_to(target)
    lines = ("train d --vocab 280 -o link/t.json", "pack d -t tok.json -o link", "pack d -t tok.json -o link/x")
    for line in lines:
        ran = slmtok(*line.split())
        assert ran.err.startswith(f"error: 'link' is a link to {target!r}, which does not exist\n"), ran.err
        assert ran.err.endswith("fix:   make the link again, or name another --output\n")


@pytest.mark.skipif(os.name == "nt", reason="Windows counts no inodes")
def test_a_disk_without_inodes_is_not_called_full_of_bytes(folder, monkeypatch):
    """ "no space left", and "free some space", were said of a disk with free bytes."""
    counts = SimpleNamespace(f_files=4, f_favail=0)
    monkeypatch.setattr(os, "statvfs", lambda folder: counts)
    full = OSError(errno.ENOSPC, "No space left on device", "ids.bin")
    said = {
        "no inodes left while writing 'ids.bin'": [
            atomic.write_error(full, folder / "ids.bin"),
            system_error(full, "slmtok"),
            not_written(folder / "ids.bin", full),
        ],
        "no inodes left while writing shard 0": [explained(full, folder, State(), 1 << 30)],
    }
    for fact, errors in said.items():
        for error in errors:
            assert error.fact == fact and error.parts["fix"].startswith("remove some files from its disk")
    # Such as btrfs.
    counts.f_files = 0
    assert atomic.write_error(full, folder / "ids.bin").fact == "no space left while writing 'ids.bin'"


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed")
def test_a_temporary_file_that_another_program_removed(folder):
    removed = r"another program removed the temporary file of '.*ids\.bin' before it was complete"
    with pytest.raises(Unreadable, match=removed) as caught, atomic.outputs(folder / "ids.bin") as (part,):
        part.touch()
        part.unlink()
    assert "nothing partial was left" in caught.value.where and "again" in caught.value.fix


class _Full:
    """A stream on a full disk."""

    def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_arrays_on_a_full_disk(folder):
    with pytest.raises(DiskFull), atomic.outputs(folder / "new.npy"):
        write_npy(_Full(), np.arange(5))


@pytest.mark.parametrize("array", [np.arange(5, dtype="<u2"), np.empty(0, "<u4"), np.arange(9, dtype="<i8")])
def test_arrays_are_saved_as_numpy_saves_them(tmp_path, array):
    np.save(tmp_path / "theirs.npy", array)
    with (tmp_path / "ours.npy").open("wb") as file:
        write_npy(file, array)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


@pytest.mark.parametrize(
    ("output_format", "name", "fix"),
    [
        ("bin", "o.npy", "--output-format npy, or -o o.bin"),
        ("npy", "o.bin", "--output-format bin, or -o o.npy"),
        ("bin", "o.json", "-o o.bin"),
        ("npy", "o.pt", "-o o.npy"),
    ],
)
def test_ids_under_the_name_of_another_array(slmtok, folder, output_format, name, fix):
    line = ("encode", "d/a.txt", "-t", "tok.json", "--output-format", output_format)
    ran = slmtok(*line, "-o", name)
    assert ran.code == 2 and f"  fix:   {fix}\n" in ran.err and not (folder / name).exists()
    option, value = fix.rpartition(", or ")[2].split(" ")
    assert slmtok(*line, option, value).code == 0
    assert slmtok("decode", value, "-t", "tok.json").out == "once upon a time"
