"""`slm chat`: turns, commands between them, and the transcript."""

from __future__ import annotations

import errno
import io
import itertools
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import pytest
from test_slm_sample import make_run, tokenizer  # noqa: F401

from slmmodel.cli import open_by_path
from slmmodel.cli.chat import HELP
from slmtok.atomic import write_error


@pytest.fixture
def run(tokenizer: Path, tmp_path: Path) -> Path:  # noqa: F811
    return make_run(tmp_path / "run", tokenizer)


def chat(slm, monkeypatch, run, typed, *options, code=0):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode("utf-8", "surrogateescape"))))
    return slm("chat", run, "--max-new", 6, *options, code=code)


def test_the_help_fits_80_columns():
    lines = f"runs/my-first-run: {HELP}".splitlines()
    assert all(len(line) <= 80 for line in lines), lines


def test_each_turn_continues_the_whole_text(slm, monkeypatch, run):
    typed = "once upon\n the fox\n\n"
    result = chat(slm, monkeypatch, run, typed, "--json", "--transcript", "t.txt").json["result"]
    turns = result["turns"]
    assert [turn["text"] for turn in turns] == ["once upon", " the fox", ""]
    assert Path("t.txt").read_text() == "".join(turn["text"] + turn["answer"] for turn in turns)
    ran = chat(slm, monkeypatch, run, typed)
    answers = "".join(turn["answer"] + "\n" for turn in turns)
    assert ran.out == answers, "the same seed gives the same text"
    first = chat(slm, monkeypatch, run, " the fox\n", "--json").json["result"]["turns"][0]
    assert first["answer"] != turns[1]["answer"], "a turn depends on those before it"


def test_settings_change_on_the_fly(slm, monkeypatch, run):
    greedy = chat(slm, monkeypatch, run, "once\n", "--temperature", "0", "--json").json["result"]["turns"][0]
    ran = chat(slm, monkeypatch, run, "/temperature 0\nonce\n", "--json")
    assert ran.json["result"]["turns"][0] == greedy
    assert "temperature 0.0\n" in ran.err
    ran = chat(slm, monkeypatch, run, "/temperature hot\n/top-p 7\n/top-k\n/fly\n/quit\nonce\n", code=1)
    assert "/temperature hot is refused: takes a number" in ran.err and "; it stays 0.8\n" in ran.err
    assert "/top-p 7 is refused: takes" in ran.err and "; it stays 1.0\n" in ran.err and "top_k 0" in ran.err
    assert "unknown command /fly" in ran.err and ran.out == ""


def test_lines_that_are_not_carried_out_are_warnings(slm, monkeypatch, run):
    typed = "once\n\udcff\n/fly\n/temperature hot\n/save\n/help\n/undo\n"
    ran = chat(slm, monkeypatch, run, typed, "--json", code=1)
    faults = [
        "this line is not UTF-8",
        "unknown command /fly",
        "/temperature hot is refused",
        "/save takes a file name",
    ]
    assert len(ran.json["warnings"]) == 4
    assert all(one.startswith(fault) for one, fault in zip(ran.json["warnings"], faults, strict=True))
    assert all(ran.err.count(fault) == 1 for fault in faults)
    ran = chat(slm, monkeypatch, run, typed, "--quiet", code=1)
    assert ran.err.startswith("error: 4 lines not carried out; the first: this line is not UTF-8"), ran.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/temp 1", "/temperature 1"),
        ("/temp 0.5", "/temperature 0.5"),
        ("/temp", "/temperature"),
        ("/set temperature 0.5", "/temperature 0.5"),
        ("/set temp=0.5", "/temperature 0.5"),
        ("/set parameter temperature 0.5", "/temperature 0.5"),
        ("/set parameter top_p 0.9", "/top-p 0.9"),
        ("/undi", "/undo"),
        ("/topk 3", "/top-k 3"),
        ("/max-tokens 9", "/max-new 9"),
        ("/reset", "/clear"),
        ("/new", "/clear"),
        ("/Restart", "/clear"),
    ],
)
def test_a_command_that_is_almost_one_is_named(slm, monkeypatch, run, typed, meant):
    ran = chat(slm, monkeypatch, run, f"{typed}\n/quit\n", code=1)
    assert f"unknown command {typed.split()[0]}; did you mean {meant}?\n" in ran.err


@pytest.mark.parametrize("word", ["/set", "/sav", "/sve", "/saves", "/safe", "/write", "/shave"])
def test_no_unknown_command_is_corrected_to_one_that_writes(slm, monkeypatch, run, word):
    ran = chat(slm, monkeypatch, run, f"{word} parameter\n/quit\n", code=1)
    assert f"unknown command {word}; " in ran.err and "did you mean /save" not in ran.err


@pytest.mark.parametrize("given", [["-p", "once upon"], ["--prompt=once upon"], ["-ponce upon"]])
def test_a_text_behind_an_option_is_the_first_turn(slm, monkeypatch, run, given):
    fix = slm("chat", run, *given, "--max-new", 6, code=2).err.rpartition("  fix:   ")[2]
    typed, _, line = fix.strip().partition(" | slm ")
    text = subprocess.run(["bash", "-c", typed], capture_output=True, check=True, text=True).stdout
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    turns = slm(*shlex.split(line), "--json", code=0).json["result"]["turns"]
    assert [turn["text"] for turn in turns] == ["once upon"]


@pytest.mark.parametrize("word", ["exit", "quit", "Bye"])
def test_the_end_of_other_programs_leads_to_that_of_a_chat(slm, monkeypatch, run, word):
    ran = chat(slm, monkeypatch, run, f"{word}\n/{word}\n/quit\n", "--json", code=word != "quit")
    assert [turn["text"] for turn in ran.json["result"]["turns"]] == [word]
    assert f"'{word}' is continued as text; /quit ends the chat\n" in ran.err
    assert word == "quit" or f"unknown command /{word}; /quit ends the chat\n" in ran.err


def test_undo_clear_and_save(slm, monkeypatch, run):
    Path("b.txt").write_text("other text")
    typed = "once\nfox\n/undo\n/save a.txt\n/save a.txt\n/save b.txt\n/clear\n"
    ran = chat(slm, monkeypatch, run, typed, "--json", code=1)
    assert ran.json["result"]["turns"] == [] and Path("a.txt").read_text().startswith("once")
    assert ran.err.count("saved 1 turn to a.txt") == 2 and "not saved: output 'b.txt' exists" in ran.err


def test_long_conversations_slide(slm, monkeypatch, run):
    typed = "the tree was tall. " * 3 + "\n" + "fox\n" * 12
    turns = chat(slm, monkeypatch, run, typed, "--json").json["result"]["turns"]
    assert len(turns) == 13 and all(turn["answer"] for turn in turns[:2])


def test_chat_needs_a_tokenizer(slm, tokenizer, tmp_path):  # noqa: F811
    run = make_run(tmp_path / "bare", tokenizer, with_tokenizer=False)
    assert "needs the tokenizer" in slm("chat", run, code=1).err


def test_stdin_that_is_closed_or_not_utf8(slm, monkeypatch, run):
    ran = chat(slm, monkeypatch, run, "\udcff\udcfe hi\nonce\n", "--json", code=1)
    assert [turn["text"] for turn in ran.json["result"]["turns"]] == ["once"]
    assert "this line is not UTF-8 and was left out" in ran.err
    monkeypatch.setattr(sys, "stdin", None)
    assert "cannot read stdin: it is closed" in slm("chat", run, code=1).err


def test_a_transcript_replaces_no_file_of_the_run(slm, run):
    before = (run / "config.yaml").read_bytes()
    refused = slm("chat", run, "--transcript", run / "config.yaml", "--force", code=2).err
    assert "is also the input" in refused and "fix:   name another --transcript" in refused
    assert (run / "config.yaml").read_bytes() == before
    Path("t.txt").touch()
    assert "name another --transcript" in slm("chat", run, "--transcript", "t.txt", code=1).err


def test_a_line_without_end_is_refused(slm, monkeypatch, run):
    with Path("/dev/zero").open("rb") as zeros:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(zeros))
        ran = slm("chat", run, code=1)
    assert "error: a line has more than 16,777,216 bytes\n  where: stdin, line 1\n" in ran.err
    assert "where: /dev/zero, line 1\n" in slm("pairs", run, "/dev/zero", code=1).err


def test_lines_without_end_are_refused_as_a_prompt(slm, monkeypatch, run):
    monkeypatch.setattr(open_by_path, "MAX_LINE_BYTES", 4096)
    monkeypatch.setattr(open_by_path, "stdin_lines", lambda: itertools.repeat(b"the fox\n"))
    ran = slm("sample", run, "--prompt", "-", code=1)
    assert "error: stdin has more than 4,096 bytes\n  where: stdin, line 513\n" in ran.err


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_transcript_is_kept_when_the_prompt_is_interrupted(run, tmp_path, signum, code, commands):
    out = tmp_path / "kept.txt"
    line = ["slm", "chat", str(run), "--max-new", "4", "--transcript", str(out)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(line, env=commands, **pipes)
    assert process.stdin and process.stdout
    process.stdin.write(b"once\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    process.send_signal(signum)
    assert process.wait(30) == code
    assert out.read_bytes() == b"once" + answer.rstrip(b"\n")
    process.stdin.close()
    process.stdout.close()


def test_a_transcript_is_kept_when_its_writing_is_interrupted(slm, monkeypatch, run):
    """As by SIGHUP behind the end of the lines, both of a terminal that is closed."""
    module, signals = import_module("slmmodel.cli.chat"), [signal.SIGHUP]
    real = module.write

    def write(*arguments, **options):
        if signals:
            os.kill(os.getpid(), signals.pop())
        real(*arguments, **options)

    monkeypatch.setattr(module, "write", write)
    ran = chat(slm, monkeypatch, run, "once\n", "--transcript", "t.txt", code=143)
    assert "terminated" in ran.err and Path("t.txt").read_text().startswith("once")


@pytest.mark.parametrize("is_full", [False, True])
def test_a_transcript_that_cannot_be_written_is_kept_elsewhere(slm, monkeypatch, run, tmp_path, is_full):
    def fail(path, *_, **__):
        raise write_error(OSError(errno.ENOSPC, "No space left on device"), Path(path))

    monkeypatch.setattr("slmmodel.cli.chat.write", fail)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing" if is_full else tmp_path))
    ran = chat(slm, monkeypatch, run, "once\n", "--transcript", "t.txt", code=1)
    answer = ran.out.partition("\n")[0]
    assert "no space left while writing 't.txt'" in ran.err
    if is_full:
        assert ran.out == f"{answer}\nonce{answer}\n" and "the transcript is on stdout" in ran.err
    else:
        subprocess.run(ran.err.rpartition("transcript: ")[2], shell=True, check=True)
        assert Path("t.txt").read_text() == f"once{answer}" and ran.out == f"{answer}\n"
    assert not list(tmp_path.glob("chat-*"))


def test_a_transcript_replaces_what_the_chat_saved_there(slm, monkeypatch, run):
    ran = chat(slm, monkeypatch, run, "once\n/save t.txt\nfox\n", "--json", "--transcript", "t.txt")
    turns = ran.json["result"]["turns"]
    assert Path("t.txt").read_text() == "".join(turn["text"] + turn["answer"] for turn in turns)
    assert len(turns) == 2 and ran.json["result"]["transcript"] == "t.txt" and ran.json["warnings"] == []


@pytest.mark.parametrize("typed", ["once\n/save t.txt\n/clear\nfox\n", "once\nfox\n/save t.txt\n/undo\n"])
def test_a_transcript_takes_a_free_name_beside_other_text(slm, monkeypatch, run, typed):
    result = chat(slm, monkeypatch, run, typed, "--json", "--transcript", "t.txt").json
    turn = result["result"]["turns"][0]
    assert Path("t.txt").read_text().startswith("once")
    assert Path("t-2.txt").read_text() == turn["text"] + turn["answer"]
    assert result["result"]["transcript"] == "t-2.txt"
    assert result["warnings"] == ["'t.txt' exists by now; the transcript is 't-2.txt'"]


def test_an_interrupted_chat_names_the_free_name_of_its_transcript(slm, monkeypatch, run):
    class Lines(io.BytesIO):
        def readline(self, *arguments):
            if line := super().readline(*arguments):
                return line
            Path("t.txt").write_text("of another chat")
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Lines(b"once\n")))
    ran = slm("chat", run, "--max-new", 6, "--transcript", "t.txt", "--quiet", code=130)
    assert "note: 't.txt' exists by now; the transcript is 't-2.txt'\n" in ran.err
    assert Path("t.txt").read_text() == "of another chat" and Path("t-2.txt").read_text().startswith("once")
