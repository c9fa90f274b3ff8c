"""What a person sees on a terminal of 80 columns: no line is longer, none is cut inside a word, commands stay whole."""

from __future__ import annotations

import json
import os
import pty
import sys

import pytest
from test_progress import ROOT, run_on_terminal

import slmtok as package
from slmmodel.cli import APP as SLM
from slmtok.cli import APP as SLMTOK
from slmtok.cli import main


@pytest.fixture
def terminal(slmtok, tmp_path, story_text):
    """Runs `slmtok` on a terminal, beside `text.txt` and `tok.json`; gives the status and the lines."""
    (tmp_path / "text.txt").write_text(story_text)
    assert slmtok("train", "text.txt", "--vocab", "700", "-o", "tok.json").code == 0
    return lambda *arguments: run_on_terminal(80, "-m", "slmtok", *arguments)


@pytest.fixture
def raw_on_terminal():
    """Runs Python on a terminal; gives the status, and all that it wrote."""

    def run(*arguments):
        child, descriptor = pty.fork()
        if child == 0:
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
            os.execvpe(sys.executable, [sys.executable, *arguments], environment)
        parts = []
        try:
            while part := os.read(descriptor, 65536):
                parts.append(part)
        except OSError:
            pass  # Linux ends a terminal with an error.
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(descriptor)
        return status, b"".join(parts).decode()

    return run


TYPED = "note: input is read from the terminal; Ctrl-D ends it\n"


@pytest.mark.parametrize(("line", "count"), [("count - -o out.counts", 1), ("count - -o out.counts -q", 0)])
def test_text_that_is_typed(line, count, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ours, theirs = os.openpty()
    os.write(ours, b"The cat sat.\n\x04")
    with os.fdopen(theirs) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main(line.split()) == 0
    os.close(ours)
    assert capsys.readouterr().err.count(TYPED) == count
    assert package.PretokenCounts.load("out.counts").bytes == len("The cat sat.\n")


@pytest.mark.parametrize("line", ["decode -t tok.json -o text.txt", "decode - -t tok.json --input-format ids"])
def test_ids_that_are_typed(line, tmp_path, monkeypatch, capsys, story_text):
    monkeypatch.chdir(tmp_path)
    package.train(package.Texts([story_text]), vocab_size=300).save("tok.json")
    ours, theirs = os.openpty()
    os.write(ours, b"100 101\n\x04")
    with os.fdopen(theirs) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main(line.split()) == 0
    os.close(ours)
    assert capsys.readouterr().err.count(TYPED) == 1


@pytest.mark.parametrize(
    "line",
    [
        "train text.txt --vocab 600 -o out.json",
        "count text.txt -o out.counts",
        "pack text.txt -t tok.json -o out",
        "diff tok.json tok.json",
        "train text.txt --vocab 60000 -o out.json",
        "slice tok.json --vocab 5000 -o out.json",
        "encode nothing -t tok.json",
    ],
)
def test_no_line_is_longer_than_the_terminal(terminal, slmtok, tmp_path, line):
    _, lines = terminal(*line.split())
    assert max(map(len, lines)) <= 80, lines
    for output in ("out.json", "out.lock", "out.counts"):
        (tmp_path / output).unlink(missing_ok=True)
    ran = slmtok(*line.split(), "--force" if "-o out" in line else "-q")
    words = {word for text in (ran.out, ran.err) for word in text.split() if not word[0].isdigit()}
    # Units of what is measured, which differs from run to run, and the options that a fix repeats.
    others = {"s", "MB", "GB", "-q", "--force"}
    assert words <= {word for text in lines for word in text.split()} | others, "a word is cut"


CONTROLS = "a\x1b[2J\x1b]0;title\x07\x9b31m\x7f\u202e\r\tb\nfox ☕\n"


def test_a_document_cannot_drive_a_terminal(terminal, slmtok, tmp_path, raw_on_terminal):
    data = CONTROLS.encode() + b"\x9b\xff"
    ids = " ".join(map(str, package.load("tok.json").encode_list(data)))
    (tmp_path / "ids.txt").write_text(ids)
    for more, end in ((), "\ufffd" * 2), (("--errors", "keep"), "\\x9b\\xff"):
        status, shown = raw_on_terminal("-m", "slmtok", "decode", "ids.txt", "-t", "tok.json", "-q", *more)
        expected = r"a\x1b[2J\x1b]0;title\x07\x9b31m\x7f\u202e\x0d" + "\tb\r\nfox ☕\r\n" + end
        assert (status, shown) == (0, expected)
    status, shown = raw_on_terminal("-m", "slmtok", "decode", "ids.txt", "-t", "tok.json", "-q", "--json")
    assert not {"\x1b", "\x07", "\x9b", "\x7f", "\u202e"} & set(shown)
    assert json.loads(shown)["result"]["texts"] == [CONTROLS + "\ufffd" * 2]


def test_a_file_or_pipe_gets_the_document_as_it_is(terminal, slmtok, tmp_path):
    data = CONTROLS.encode() + b"\x9b\xff"
    ids = " ".join(map(str, package.load("tok.json").encode_list(data)))
    (tmp_path / "ids.txt").write_text(ids)
    given = ("decode", "ids.txt", "-t", "tok.json", "--errors", "keep")
    assert slmtok(*given).stdout == data
    assert slmtok(*given, "-o", "out.bin").code == 0 and (tmp_path / "out.bin").read_bytes() == data


def test_elsewhere_lines_stay_whole(slmtok, tmp_path, story_text):
    (tmp_path / "text.txt").write_text(story_text)
    ran = slmtok("count", "text.txt", "-o", "out.counts")
    assert "slmtok merge --min-count 5 leaves those out\n" in ran.err and ran.err.count("\n") == 1


def test_items_and_literals_are_not_cut(terminal):
    _, lines = terminal("info", "tok.json")
    assert any(line.rstrip().endswith("4 sep <sep>") for line in lines)
    regex = next(line for line in lines if "'(?i:" in line)
    assert "| ?[^" in "".join(lines[lines.index(regex) : lines.index(regex) + 2]), "the space of a pattern is kept"


def test_a_command_in_a_remedy_stays_one_line(terminal):
    path = "a-rather-long-name-of-a-tokenizer-file-in-a-rather-long-folder.json"
    _, lines = terminal("tarin", "text.txt", "--vocab", "600", "-o", path)
    text = "".join(line.ljust(80) if len(line) == 80 else line for line in lines)
    assert f"fix:   slmtok train text.txt --vocab 600 -o {path}" in text


@pytest.mark.parametrize("app", [SLMTOK, SLM], ids=lambda app: app.name)
def test_help_fits(app):
    assert max(map(len, app.help_text().splitlines())) < 80
