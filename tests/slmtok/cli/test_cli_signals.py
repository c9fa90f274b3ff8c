"""Interrupts, full disks, progress: what happens to real processes, and what they leave behind."""

from __future__ import annotations

import gzip
import lzma
import os
import signal
import struct
import threading
import time
import weakref

import pytest

from slmtok.cli import progress as runtime
from slmtok.cli.app import Terminated, _signals

SIZE = 30_000_000


@pytest.fixture
def stories(tmp_path):
    """A corpus that takes some seconds to train on with a custom pattern, one line a document."""
    from slmtok.stories import story

    block = "".join(story(index) for index in range(100)).encode()
    path = tmp_path / "big.txt"
    path.write_bytes(block * (SIZE // len(block)))
    return path


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (signal.SIGINT, 130, b"interrupted\n"),
        (signal.SIGTERM, 143, b"terminated\n"),
        (signal.SIGHUP, 143, b"terminated\n"),
    ],
)
def test_a_stopped_run_leaves_nothing(command, stories, tmp_path, number, code, word):
    process = command(
        "train", "big.txt", "--vocab", 4000, "--document", "line", "--pattern", r"[a-z]+(?!x)|\s+|.", "-o", "tok.json"
    )
    time.sleep(1.0)
    assert process.poll() is None, "the run ended before it could be stopped"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, b"", word)
    assert [path.name for path in tmp_path.iterdir()] == ["big.txt"]


@pytest.mark.parametrize("suffix", ["gz", "zst", "xz"])
def test_a_compressed_file_that_holds_nothing_is_left_within_a_second(command, tmp_path, suffix):
    path = tmp_path / f"big.txt.{suffix}"
    empty = {"gz": gzip.compress(b""), "zst": struct.pack("<II", 0x184D2A50, 0), "xz": lzma.compress(b"")}[suffix]
    with path.open("wb") as file:
        for _ in range(100):
            file.write(empty * {"gz": 40_000, "zst": 400_000, "xz": 40_000}[suffix])
    process = command("count", path.name, "-o", "all.counts")
    time.sleep(1.5)
    assert process.poll() is None, "the run ended before it could be stopped"
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    process.communicate(timeout=60)
    assert process.returncode == 130
    # The rest is allowance for a busy machine; without a check it takes as long as the file.
    assert time.monotonic() - sent < 2


@pytest.mark.parametrize(
    ("number", "stopped"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated), (signal.SIGHUP, Terminated)],
)
def test_a_signal_whose_exception_python_drops_is_sent_again(capsys, number, stopped) -> None:
    class Referent:
        pass

    def callback(reference: object) -> None:
        signal.raise_signal(number)

    referent = Referent()
    reference = weakref.ref(referent, callback)
    ours, theirs = os.pipe()
    begin = time.monotonic()
    timer = threading.Timer(10, os.close, [theirs])
    timer.start()
    with pytest.raises(stopped), _signals() as received:
        del referent
        # Waits until the other end is closed.
        os.read(ours, 1)
    timer.cancel()
    os.close(ours)
    os.close(theirs)
    assert time.monotonic() - begin < 5
    assert reference() is None and received == [number] * 2 and capsys.readouterr().err == ""


def test_stopped_while_writing(command, tmp_path):
    process = command("sample-corpus", "--bytes", "2GB", "-o", "s.txt")
    for _ in range(200):
        if any(path.suffix == ".part" for path in tmp_path.iterdir()):
            break
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_may_not_grow(command, small_files, tmp_path):
    process = command("sample-corpus", "--bytes", "5MB", "-o", "s.txt", preexec_fn=small_files)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, b"")
    assert err.decode() == (
        "error: cannot write 's.txt': File too large\n"
        "  where: the folder '.'; nothing partial was left\n"
        "  fix:   raise the limit on the size of a file (ulimit -f), or write less\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_disk_full(slmtok, monkeypatch, tmp_path):
    import errno

    def full(out, n_bytes, **options):
        out.write(b"x" * 100)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("slmtok.stories.write_stories", full)
    ran = slmtok("sample-corpus", "-o", "s.txt")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: no space left while writing 's.txt'\n"
        "  where: .; nothing partial was left\n"
        "  fix:   free some space, then run the same command again\n"
    )
    assert list(tmp_path.iterdir()) == []


# --- progress --------------------------------------------------------------------------------------------------------


def test_quick_jobs_show_no_progress(capsys):
    with runtime.Progress() as progress:
        progress("count", 1, 10)
        progress("count", 10, 10)
    assert capsys.readouterr().err == ""


def test_slow_jobs_show_few_lines(capsys, clock):
    with runtime.Progress() as progress:
        for done in range(1001):
            clock[0] += 0.1
            progress("count", done, 1000)
        for done in range(3):
            clock[0] += 6
            progress("merge", done, 0)
    lines = capsys.readouterr().err.splitlines()
    counts = [line for line in lines if line.startswith("count")]
    assert 5 <= len(counts) <= 10 and counts[0] == "count: 10 %"
    assert lines[len(counts) :] == ["merge", "merge: 1", "merge: 2"]


def test_parts_of_a_stage_are_added_up(capsys, clock):
    with runtime.Progress(expected={"count": 400, "encode": 0}) as progress:
        for stage in ("count", "encode"):
            for _part in range(2):
                for done in (100, 200):
                    clock[0] += 6
                    progress(stage, done, 200)
    assert capsys.readouterr().err.splitlines() == [
        "count: 25 %",
        "count: 50 %",
        "count: 75 %",
        "count: 100 %",
        "encode: 50 %",
        "encode: 100 %",
        "encode: 300 bytes",
        "encode: 400 bytes",
    ]


def test_quiet_shows_nothing(capsys, clock):
    with runtime.Progress(quiet=True) as progress:
        for done in range(100):
            clock[0] += 10
            progress("count", done, 100)
    assert capsys.readouterr().err == ""
