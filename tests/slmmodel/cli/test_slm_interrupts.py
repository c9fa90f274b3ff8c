"""Ctrl-C, SIGTERM and SIGHUP end a command of slm within a second, whatever it is doing, in real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import pytest

MAX_SECONDS = 3.0
"""A second, and what a machine that runs other tests may add."""
SIZES = "model.d_model=16 model.n_layers=1 model.n_heads=2 model.n_kv_heads=1 model.d_ff=16 model.seq_len=64"
SETTINGS = [part for one in f"{SIZES} run.batch_tokens=512 run.threads=1".split() for part in ("--set", one)]
TRAIN = ["train", "data", "--preset", "cpu-demo", "--budget", "steps=1000000", *SETTINGS]
COMPUTED_SECONDS = 0.5
"""Behind which the signal is sent: a command has then begun with what takes minutes."""
COMMANDS = {
    "importing": (["sample", "run", "the"], None),
    "training": ([*TRAIN, "-o", "a"], "a/heartbeat.json"),
    "training, saving each step": ([*TRAIN, "-o", "b", "--set", "run.save_every=1"], "b/heartbeat.json"),
    "training, scoring each step": ([*TRAIN, "-o", "c", "--set", "run.eval_every=1"], "c/heartbeat.json"),
    "waiting for a line": (["chat", "run"], None),
    "scoring": (["eval", "run", "--on", "big.txt", "--no-baselines"], ""),
    "comparing pairs": (["pairs", "run", "pairs.jsonl", "--threads", "1"], ""),
    "learning a task": (["probe", "run", "--steps", "1000000", "--threads", "1"], ""),
    "measuring an arm": (["ablate", "data", "data", "--cpu", *TRAIN[2:], "-o", "d"], ""),
    "training an arm": (["ablate", "data", "data", "--cpu", *TRAIN[2:], "-o", "e"], "e/runs/*/heartbeat.json"),
}
"""Commands that take minutes, and a file that is there before the signal is sent; None: a command that waits, or that
still imports. All but the first start with torch imported."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sends signals, reads /proc")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, commands: Mapping[str, str]) -> Path:
    folder = tmp_path_factory.mktemp("interrupts").resolve()
    line = "the cat sat on the mat and the rat ran to the hat\n"
    (folder / "c.txt").write_text(line * 2000, encoding="utf-8")
    (folder / "big.txt").write_text(line * 100_000, encoding="utf-8")
    pair = '{"sentence_good": "the cat sat", "sentence_bad": "sat the cat"}\n'
    (folder / "pairs.jsonl").write_text(pair * 100_000, encoding="utf-8")
    for argv in (
        ["slmtok", "train", "c.txt", "--vocab", "290", "-o", "tok.json"],
        ["slmtok", "pack", "c.txt", "-t", "tok.json", "--document", "line", "--val", "tail:10%", "-o", "data"],
        ["slm", *TRAIN[:4], "--budget", "steps=2", *SETTINGS, "-o", "run"],
    ):
        subprocess.run([*argv, "--quiet"], cwd=folder, env=commands, check=True, timeout=120)
    return folder


def wait_for_work(process: subprocess.Popen[bytes], folder: Path, pattern: str) -> None:
    """Waits until a file exists, and the command has computed for a while."""
    while process.poll() is None:
        if computed_seconds(process, folder) > COMPUTED_SECONDS and (not pattern or any(folder.glob(pattern))):
            break
        time.sleep(0.05)


def computed_seconds(client: subprocess.Popen[bytes], folder: Path) -> float:
    """The CPU time of a command, which is the other process in the folder of its client."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if process.name != str(client.pid) and (process / "cwd").readlink() == folder:
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("name", "number"), list(zip(COMMANDS, cycle([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))))
def test_a_command_hears_a_signal(name: str, number: signal.Signals, files: Path, commands: Mapping[str, str]) -> None:
    argv, pattern = COMMANDS[name]
    program = [sys.executable, "-m", "slmmodel"] if name == "importing" else ["slm"]
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        [*program, *argv],
        cwd=files, env=commands, stdin=ours, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        if pattern is None:
            time.sleep(0.5 if name == "importing" else 1.0)
        else:
            wait_for_work(process, files, pattern)
        assert process.poll() is None, process.communicate()
        begin = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
    seconds = time.monotonic() - begin
    word, code = (b"interrupted", 130) if number == signal.SIGINT else (b"terminated", 143)
    assert process.returncode == code and word in err and b"Traceback" not in err, (process.returncode, err)
    assert seconds < MAX_SECONDS, f"{name} heard {number.name} after {seconds:.1f} s"
