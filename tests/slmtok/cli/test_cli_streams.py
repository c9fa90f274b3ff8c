"""Commands whose stdin, stdout or stderr is closed or full: an error or silence, and never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from shared_data import peer

from slmtok.cli import COMMANDS, main, streams

# One line for each command, each of which ends well and writes to stdout; and what fails by itself.
LINES = {
    "train": "train a.txt --vocab 280 -o new.json",
    "encode": "encode a.txt -t tok.json",
    "decode": "decode ids.txt -t tok.json",
    "show": "show tok.json hello",
    "view": "view tok.json hello -o -",
    "report": "report tok.json -o -",
    "vocab": "vocab tok.json",
    "info": "info tok.json",
    "verify": "verify tok.json",
    "bench": "bench --on a.txt -t tok.json --against tiktoken --rounds 1 --quiet",
    "sample-corpus": "sample-corpus --bytes 5kB -o -",
    "completion": "completion bash",
    "npy": "encode a.txt -t tok.json --output-format npy -o -",
    "bin": "encode a.txt -t tok.json --output-format bin -o -",
    "json": "info tok.json --json",
    "help": "--help",
    "version": "--version",
    "help of one": "train --help",
}
WRITING = {
    "count": "count a.txt -o new.counts",
    "merge": "merge a.counts -o new.counts",
    "slice": "slice own.json --vocab 275 -o new.json",
    "extend": "extend own.json a.txt --vocab 280 -o new.json",
    "prune": "prune own.json --unused-on a.txt -o new.json",
    "set-special": "set-special own.json 'user=<|user|>' -o new.json",
    "reproduce": "reproduce own.lock --corpus .",
    "pack": "pack a.txt -t own.json -o new --val none",
    "exposure": "exposure packed",
    "align": "align a.losses a.losses --on a.txt",
    "audit": "audit own.json --on a.txt -o new.json",
    "eval": "eval own.json --on a.txt",
    "diff": "diff own.json own.json",
    "export": "export own.json --output-format tiktoken --no-verify -o new",
    "import": "import for/for.json --no-verify -o new.json",
}
"""Commands whose output is files, and a summary on stdout; they need what `made` makes."""
FAILING = {"missing": "info nothing.json", "missing, json": "info nothing.json --json", "unknown": "blurb", "none": ""}
READING = ("encode - -t tok.json", "decode - -t tok.json", "train - --vocab 280 -o n.json", "show tok.json -")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with a text, a tokenizer and its lock, counts, and the tokenizer for another library."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "a.txt").write_text("once upon a time " * 40)
    arrays = {"nats": np.float32([1]), "nbytes": np.uint32([680]), "offsets": np.uint64([0, 1])}
    about = {"about": json.dumps({"format": "slm-losses", "version": 1})}
    (folder / "a.losses").write_bytes(peer("safetensors.numpy").save(arrays, about))
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.chdir(folder)
        for line in (
            "train a.txt --vocab 278 -o own.json",
            "count a.txt -o a.counts",
            "pack a.txt -t own.json -o packed --val none",
            "export own.json --output-format tiktoken --no-verify -o for",
        ):
            assert main([*line.split(), "-q"]) == 0
    return folder


@pytest.fixture
def shell(tmp_path, tok, made, environment):
    """Runs a line in a shell, with the redirections behind it: (status, stdout, stderr). `%` stands for the line."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    (tmp_path / "tok.json").write_bytes(Path(tok).read_bytes())
    (tmp_path / "ids.txt").write_text("300 301\n")

    def run(line: str, redirections: str) -> tuple[int, str, str]:
        done = subprocess.run(
            (redirections if "%" in redirections else f"% {redirections}").replace(
                "%", f"'{sys.executable}' -m slmtok {line}"
            ),
            shell=True,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_every_command_is_tried():
    assert set(COMMANDS) <= set(LINES) | set(WRITING)


@pytest.mark.parametrize("line", [*LINES.values(), *WRITING.values()])
def test_stdout_full_or_closed(shell, line):
    found = re.search("-o (new[^ ]*)", line)
    complete = f"; {found[1]!r} is complete" if found else ""
    assert shell(line, "> /dev/full") == (
        1,
        "",
        "error: no space left while writing to stdout\n"
        f"  where: stdout{complete}\n"
        "  fix:   free some space, or write to another disk\n",
    )
    code, _, err = shell(line + (" --force" if " -o new" in line else ""), ">&-")
    assert code == 1
    assert err == (
        "error: cannot write to stdout: it is closed\n"
        f"  where: stdout{complete}\n"
        "  fix:   send stdout to a file or to another program, or to /dev/null\n"
    )


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("redirection", ["2> /dev/full", "2>&- <&-"])
def test_stdin_and_stderr_do_not_matter(shell, name, redirection):
    code, out, err = shell(LINES[name], redirection)
    assert (code, err) == (0, "")
    assert out


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("redirection", ["2> /dev/full", "> /dev/full", ">&- 2>&- <&-"])
def test_failures_keep_their_status(shell, name, redirection):
    code, _, err = shell(FAILING[name], redirection)
    assert code == (1 if name.startswith("missing") else 2)
    assert "Traceback" not in err and "Exception" not in err


@pytest.mark.parametrize("line", READING)
def test_stdin_that_is_closed(shell, line):
    code, out, err = shell(line, "<&-")
    assert (code, out) == (1, "")
    assert err.startswith("error: cannot read stdin: it is closed\n  where: -\n  fix:   name a file")


@pytest.mark.parametrize("kind", ["npy", "bin", "ids", "tokens"])
def test_a_reader_that_goes_away(shell, tmp_path, kind):
    (tmp_path / "a.txt").write_text("once upon a time " * 40_000)
    code, out, err = shell(f"encode a.txt -t tok.json --output-format {kind} -o -", "{ %; echo $? >&2; } | head -c 3")
    assert (code, err) == (0, "0\n") and len(out) <= 3


@pytest.mark.skipif(not hasattr(os, "set_blocking"), reason="pipes of Windows")
@pytest.mark.parametrize("kind", ["bin", "ids"])
def test_a_pipe_that_does_not_block_gets_all(shell, tmp_path, environment, kind):
    """As other programs leave a pipe that they share; the reader begins late."""
    (tmp_path / "a.txt").write_text("once upon a time " * 40_000)
    line = f"encode a.txt -t tok.json --output-format {kind} -o"
    assert shell(f"{line} whole", "")[0] == 0
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    command = [sys.executable, "-m", "slmtok", *line.split(), "-"]
    with subprocess.Popen(command, stdout=writer, cwd=tmp_path, env=environment) as process:
        time.sleep(1)
        assert not os.get_blocking(writer) or process.poll() is None
        os.close(writer)
        with open(reader, "rb") as file:  # noqa: PTH123
            content = file.read()
    assert process.returncode == 0
    assert content == (tmp_path / "whole").read_bytes()


def test_no_file_takes_the_number_of_a_closed_stream(shell, tmp_path):
    """What a fault prints to number 2 must not land in the output."""
    code, out, err = shell("train a.txt --vocab 280 -o new.json", ">&- 2>&- <&-")
    assert (code, out, err) == (1, "", "")
    assert (tmp_path / "new.json").read_bytes().startswith(b'{"format"')


def test_the_streams_are_given_back(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    with streams.guarded():
        sys.stderr.write("lost")
        sys.stderr.flush()
        assert not sys.stderr.isatty() and not sys.stdout.isatty()
        sys.stdout.write("x")
        with pytest.raises(OSError, match="it is closed"):
            sys.stdout.flush()
    assert sys.stdout is None and sys.stderr is None
