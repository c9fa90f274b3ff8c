"""Commands whose stdin, stdout or stderr is closed or full: an error or silence, and never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from forked_commands import modules_of
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
FORKS = r"""
import importlib, json, os, socket, sys
from contextlib import suppress

for module in sys.argv[2:]:
    with suppress(ImportError):
        importlib.import_module(module)
from slmtok.__main__ import main

test = socket.socket(fileno=int(sys.argv[1]))
while request := test.recv(1 << 16):
    child = os.fork()
    if not child:
        break
    test.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
if request:
    test.close()
    folder, sys.argv, paths = json.loads(request)
    for number, (name, path) in enumerate(zip(("stdin", "stdout", "stderr"), paths)):
        if path is None:
            # As Python starts with a closed stream.
            os.close(number)
            setattr(sys, name, None)
            setattr(sys, f"__{name}__", None)
        else:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(file, number)
            os.close(file)
    os.chdir(folder)
    sys.exit(main())
"""
"""A process with all imports, whose forks run a command each, with their own streams, and end as a program ends."""
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
def filled(tmp_path, tok, made):
    """The folder in which commands run."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    (tmp_path / "tok.json").write_bytes(Path(tok).read_bytes())
    (tmp_path / "ids.txt").write_text("300 301\n")
    return tmp_path


@pytest.fixture(scope="module")
def forks():
    """The socket of a process of `FORKS`."""
    ours, theirs = socket.socketpair()
    number, modules = str(theirs.fileno()), [*modules_of("slmtok"), "numpy", "tiktoken", "tokenizers"]
    path = os.pathsep.join(path for path in sys.path if path)
    with ours:
        process = subprocess.Popen(
            [sys.executable, "-c", FORKS, number, *modules],
            env={**os.environ, "PYTHONPATH": path},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        ours.settimeout(60)
        yield ours
    process.wait()


@pytest.fixture
def forked(forks, filled, tmp_path_factory):
    """Runs a line with other standard streams, by number: (status, stdout, stderr). None is a closed one."""
    folder = tmp_path_factory.mktemp("streams")

    def run(line: str, streams: dict[int, str | None]) -> tuple[int, str, str]:
        outputs = [folder / "stdout", folder / "stderr"]
        for path in outputs:
            path.touch()
        paths = ["/dev/null", *map(str, outputs)]
        given = [streams.get(number, path) for number, path in enumerate(paths)]
        forks.send(json.dumps([str(filled), ["slmtok", *shlex.split(line)], given]).encode())
        status = int(forks.recv(16))
        return status, *(path.read_text(errors="replace") for path in outputs)  # type: ignore[return-value]

    return run


@pytest.fixture
def shell(filled, environment):
    """Runs a line in a shell, with the redirections behind it: (status, stdout, stderr). `%` stands for the line."""

    def run(line: str, redirections: str) -> tuple[int, str, str]:
        done = subprocess.run(
            (redirections if "%" in redirections else f"% {redirections}").replace(
                "%", f"'{sys.executable}' -m slmtok {line}"
            ),
            shell=True,
            cwd=filled,
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
def test_stdout_full_or_closed(forked, line):
    found = re.search("-o (new[^ ]*)", line)
    complete = f"; {found[1]!r} is complete" if found else ""
    assert forked(line, {1: "/dev/full"}) == (
        1,
        "",
        "error: no space left while writing to stdout\n"
        f"  where: stdout{complete}\n"
        "  fix:   free some space, or write to another disk\n",
    )
    code, _, err = forked(line + (" --force" if " -o new" in line else ""), {1: None})
    assert code == 1
    assert err == (
        "error: cannot write to stdout: it is closed\n"
        f"  where: stdout{complete}\n"
        "  fix:   send stdout to a file or to another program, or to /dev/null\n"
    )


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("streams", [{2: "/dev/full"}, {2: None, 0: None}], ids=["full", "closed"])
def test_stdin_and_stderr_do_not_matter(forked, name, streams):
    code, out, err = forked(LINES[name], streams)
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
