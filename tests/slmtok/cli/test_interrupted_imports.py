"""Ctrl-C before a command has been imported: no traceback, status 130."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
