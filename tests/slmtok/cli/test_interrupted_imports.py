"""Ctrl-C before a command has been imported: no traceback, status 130."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import slmtok

# The signal arrives when click, the first large import, begins.
INTERRUPTED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from {package}.__main__ import main
sys.argv = ["x", "--version"]
sys.exit(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to a single process")
@pytest.mark.parametrize("package", ["slmtok", "slmmodel"])
def test_ctrl_c_while_importing(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(package=package)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


LOCKED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if os.path.exists("out/.lock"):
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Interrupt())
from slmmodel.__main__ import main
sys.argv = ["slm", "train", "data", "-o", "out", "--preset", "cpu-demo", "--budget", "steps=1"]
sys.exit(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGTERM to a single process")
def test_a_signal_in_an_import_releases_the_locked_folder(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = tmp_path / "a.txt"
    text.write_text("the cat sat on the mat\n" * 900)
    slmtok.pack(text, slmtok.train(text, vocab_size=275), tmp_path / "data", val="none")
    done = subprocess.run([sys.executable, "-c", LOCKED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 143, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "data"]
