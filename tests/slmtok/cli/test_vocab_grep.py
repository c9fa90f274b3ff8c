"""`slmtok vocab --grep` with a regex that takes exponential time: an error within a bound, and Ctrl-C before it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import slmtok
from slmtok.cli import vocab as command

SLOW = "(a+)+b"


@pytest.fixture(scope="module")
def of_many_letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer with a token of 64 letters."""
    path = tmp_path_factory.mktemp("vocab") / "tok.json"
    slmtok.train(slmtok.Texts(["a" * 64] * 100), vocab_size=300, allow_smaller=True).save(path)
    return path


def test_a_search_without_an_end_is_ended(of_many_letters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MAX_GREP_SECONDS", 0.2)
    rows = list(command._rows(slmtok.load(of_many_letters)))
    before, begun = signal.getsignal(signal.SIGALRM), time.monotonic()
    with pytest.raises(slmtok.errors.OptionError, match=r"takes more than 0\.2 seconds") as caught:
        command._select(iter(rows), SLOW, None, "id")
    assert time.monotonic() - begun < 5 and signal.getsignal(signal.SIGALRM) is before
    assert "the token 'aaaa" in str(caught.value.where)
    assert str(caught.value.fix).startswith(r"--grep '\(a\+\)\+b' for these characters")
    assert {row.token for row in command._select(iter(rows), "a+", None, "id")} >= {b"a", b"aa"}
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_ctrl_c_ends_the_search(of_many_letters: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "slmtok", "vocab", str(of_many_letters), "--grep", SLOW],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    time.sleep(2)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and b"interrupted" in errors and b"Traceback" not in errors
    assert time.monotonic() - begun < 5
