"""Text that can be read once: all of it is read, or nothing is."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import slmtok as package
from slmtok.stories import stories

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes have no names")
TEXT = "\n".join(islice(stories(seed=5), 40)).encode()


def command(*words: str, pipe: bytes) -> subprocess.CompletedProcess[str]:
    """`slmtok` with `pipe` behind a name of its own, as a shell gives it for <(command)."""
    reading, writing = os.pipe()
    feeder = threading.Thread(target=feed, args=(writing, pipe))
    feeder.start()
    line = [sys.executable, "-m", "slmtok", *(word.replace("PIPE", f"/dev/fd/{reading}") for word in words)]
    try:
        return subprocess.run(line, capture_output=True, text=True, pass_fds=[reading], timeout=60)
    finally:
        os.close(reading)
        feeder.join()


def feed(writing: int, pipe: bytes) -> None:
    with os.fdopen(writing, "wb") as file:
        try:
            file.write(pipe)
        except BrokenPipeError:
            return


def made(words: list[str], out: Path, corpus: str, pipe: bytes = b"") -> bytes:
    done = command(*words, "-o", str(out), corpus, pipe=pipe)
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


@pytest.mark.parametrize("words", [["train", "--vocab", "300"], ["count"]], ids=["train", "count"])
def test_a_pipe_is_read_whole(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(TEXT)
    suffix = ".json" if words[0] == "train" else ".counts"
    outs = [tmp_path / f"{name}{suffix}" for name in ("file", "pipe", "fifo")]
    made(words, outs[0], str(tmp_path / "text.txt"))
    made(words, outs[1], "PIPE", TEXT)
    os.mkfifo(tmp_path / "fifo")
    feeder = threading.Thread(target=lambda: (tmp_path / "fifo").write_bytes(TEXT))
    feeder.start()
    made(words, outs[2], str(tmp_path / "fifo"))
    feeder.join()
    pieces = [told(out) for out in outs]
    assert pieces[0] and pieces == pieces[:1] * 3


def told(out: Path) -> str:
    """What `info` says of pieces, or of merges; names of sources differ."""
    done = command("info", str(out), pipe=b"")
    return "\n".join(
        line for line in done.stdout.splitlines() if "pretoken" in line or "sha" in line or "merges" in line
    )


def test_packing_refuses_a_pipe_by_name(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(TEXT)
    made(["train", "--vocab", "300"], tmp_path / "t.json", str(tmp_path / "text.txt"))
    done = command("pack", "PIPE", "-t", str(tmp_path / "t.json"), "-o", str(tmp_path / "out"), pipe=TEXT)
    assert done.returncode == 2
    assert "read only once" in done.stderr and "name - in the place of /dev/fd/" in done.stderr
    assert not list((tmp_path).glob("out/*"))


@pytest.mark.parametrize("corpus", ["fold", "fold/*", "fold/*.txt"])
def test_a_pipe_among_files_is_not_left_out_without_a_word(corpus: str, tmp_path: Path) -> None:
    """Nor waited for. A folder below a glob is neither a file nor refused."""
    (tmp_path / "fold" / "below").mkdir(parents=True)
    (tmp_path / "fold" / "a.txt").write_bytes(TEXT)
    os.mkfifo(tmp_path / "fold" / "q.txt")
    words = ["train", str(tmp_path / corpus), "--vocab", "300", "-o", str(tmp_path / "t.json")]
    done = command(*words, pipe=b"")
    assert done.returncode == 1 and "q.txt' is a pipe, a socket or a device, not a file" in done.stderr
    assert "fix:   --exclude q.txt leaves it out" in done.stderr
    assert command(*words, "--exclude", "q.txt", pipe=b"").returncode == 0


@pytest.fixture
def named_pipe() -> Iterator[Callable[[bytes], str]]:
    """`named_pipe(data)`: the name of a pipe that holds some bytes and has no writer any more."""
    opened: list[int] = []

    def make(data: bytes) -> str:
        reading, writing = os.pipe()
        opened.append(reading)
        feed(writing, data)
        return f"/dev/fd/{reading}"

    yield make
    for each in opened:
        os.close(each)


def test_compressed_data_of_a_pipe_are_refused(slmtok: Any, named_pipe: Callable[[bytes], str]) -> None:
    ran = slmtok("count", named_pipe(gzip.compress(TEXT)), "-o", "x.counts")
    assert ran.code == 2 and "is gzip data, not text" in ran.err
    assert "fix:   name <(gzip -dc FILE) in its place" in ran.err


@pytest.mark.parametrize("data", [gzip.compress(TEXT), bytes(range(256)) * 20], ids=["gzip", "binary"])
def test_each_of_several_pipes_is_looked_into(slmtok: Any, named_pipe: Callable[[bytes], str], data: bytes) -> None:
    ran = slmtok("count", named_pipe(TEXT), named_pipe(TEXT[:999]), "-o", "x.counts")
    assert ran.code == 0 and package.PretokenCounts.load("x.counts").bytes == len(TEXT) + 999
    ran = slmtok("count", named_pipe(TEXT), named_pipe(TEXT[:999]), (last := named_pipe(data)), "-o", "y.counts")
    assert ran.code == 2 and f"{last!r} is " in ran.err and ", not text" in ran.err and not Path("y.counts").exists()


def test_records_of_a_pipe_are_noted_and_read_whole(slmtok: Any, named_pipe: Callable[[bytes], str]) -> None:
    lines = b"".join(json.dumps({"text": f"The cat sat on mat {at}."}).encode() + b"\n" for at in range(20))
    ran = slmtok("count", named_pipe(lines), "-o", "x.counts")
    assert "looks like JSON lines" in ran.err and "--format jsonl" in ran.err
    assert package.PretokenCounts.load("x.counts").bytes == len(lines)
    assert "JSON" not in slmtok("count", named_pipe(lines), "--format", "jsonl", "-o", "y.counts").err
    assert package.PretokenCounts.load("y.counts").documents == 20


def test_of_several_pipes_the_first_is_opened_before_it_is_read(slmtok: Any, tmp_path: Path) -> None:
    """One writer may write them in turn, each longer than the buffer of a pipe."""
    pipes = [tmp_path / "one", tmp_path / "two"]
    for pipe in pipes:
        os.mkfifo(pipe)
    text = TEXT * (1 + (1 << 17) // len(TEXT))
    feeder = threading.Thread(target=lambda: [pipe.write_bytes(text) for pipe in pipes])
    feeder.start()
    assert slmtok("count", *pipes, "-o", "x.counts").code == 0
    feeder.join()
    assert package.PretokenCounts.load("x.counts").documents == 2


@pytest.mark.parametrize(
    "line",
    [
        "audit no.json --on fifo",
        "audit tok.json --on fifo --leak no.json",
        "audit tok.json --on fifo --metadata no.json",
        "audit tok.json --on fifo --baselines no.json",
        "bench -t no.json --on fifo",
        "encode fifo -t no.json",
        "eval no.json --on fifo",
        "import no.json --verify-on fifo -o x.json",
        "report no.json --on fifo",
    ],
)
def test_another_missing_input_is_named_before_a_pipe_is_opened(line: str, slmtok: Callable[..., Any]) -> None:
    """The pipe has no writer, so a command that opened it would wait."""
    os.mkfifo("fifo")
    package.train(package.Texts([TEXT.decode()]), vocab_size=300).save("tok.json")
    assert "'no.json'" in slmtok(*line.split()).err
