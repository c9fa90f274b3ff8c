"""Several outputs of one command: killed at any system call that matters, the same command ends in the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import functools, os, signal, sys
left = [int(sys.argv[1])]
def counted(call):
    def run(*arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    # The pathlib of Python 3.10 makes attributes of a class of them, where functions would become methods.
    return functools.partial(run)
for name in ("fsync", "rename", "replace", "unlink", "open"):
    setattr(os, name, counted(getattr(os, name)))
from slmtok.cli import main
code = main(sys.argv[2:])
sys.stderr.write(f"calls {int(sys.argv[1]) - left[0]}\\n")
sys.exit(code)
"""

COMMANDS = {
    "train": ("train", "c.txt", "--vocab", "288", "--save-counts", "out.counts", "-o", "out.json"),
    "count": ("count", "c.txt", "--doc-digests", "-o", "out.counts"),
    "encode": ("encode", "c.txt", "-t", "tok.json", "--output-format", "npy", "-o", "out.npy"),
}


def run(folder, arguments, at=1 << 30):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", PROGRAM, str(at), *arguments, "--quiet"]
    ran = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True)
    return ran.returncode, ran.stderr


def outputs(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name.startswith(("out", ".out", "..out"))}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_anywhere_the_same_command_finishes(tmp_path, name):
    (tmp_path / "c.txt").write_text("the cat sat on the mat, the rat ran to the cat\n" * 9, encoding="utf-8")
    assert run(tmp_path, ("train", "c.txt", "--vocab", "280", "-o", "tok.json"))[0] == 0
    code, err = run(tmp_path, COMMANDS[name])
    assert code == 0, err
    whole, calls = outputs(tmp_path), int(err.split("calls ")[1])
    assert len(whole) > 1
    for at in range(max(1, calls - 8), calls + 1):
        for path in outputs(tmp_path):
            (tmp_path / path).unlink()
        assert run(tmp_path, COMMANDS[name], at)[0] == -signal.SIGKILL
        code, err = run(tmp_path, COMMANDS[name])
        assert code == 0, f"killed at call {at} of {calls}: {err}"
        assert outputs(tmp_path) == whole, f"killed at call {at} of {calls}"
    # A finished set is complete, and other files are never replaced.
    assert run(tmp_path, COMMANDS[name])[0] == 1
    for path in whole:
        (tmp_path / path).unlink()
    (tmp_path / max(whole)).write_bytes(b"mine")
    assert run(tmp_path, COMMANDS[name])[0] == 1 and (tmp_path / max(whole)).read_bytes() == b"mine"


@pytest.mark.skipif(os.name == "nt", reason="modes and links of Unix")
def test_modes_stay_and_links_are_replaced_themselves(tmp_path):
    (tmp_path / "c.txt").write_text("the cat sat on the mat, the rat ran\n" * 9, encoding="utf-8")
    arguments = ("train", "c.txt", "--vocab", "280", "-o", "out.json")
    assert run(tmp_path, arguments)[0] == 0
    (tmp_path / "out.json").chmod(0o640)
    assert run(tmp_path, (*arguments, "--force"))[0] == 0
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o640
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    (tmp_path / "out.json").unlink()
    for target in ("precious", "nowhere"):
        (tmp_path / "out.lock").unlink(missing_ok=True)
        (tmp_path / "out.json").symlink_to(target)
        assert run(tmp_path, arguments)[0] == 1
        assert run(tmp_path, (*arguments, "--force"))[0] == 0
        assert not (tmp_path / "out.json").is_symlink() and (tmp_path / "precious").read_text() == "mine"
        (tmp_path / "out.json").unlink()
