"""The frame around all commands: help, version, quick start, wrong usage, closed pipes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.core import ParameterSource

from slmtok.cli import APP, COMMANDS
from slmtok.cli.needed import NEVER, check_needs, needed_param
from slmtok.errors import OptionError


def test_help_lists_every_command(slmtok):
    ran = slmtok("--help")
    assert (ran.code, ran.out, ran.err) == (0, APP.help_text(), "")
    for name, command in COMMANDS.items():
        assert f"  {name} " in ran.out and command.summary in ran.out


def test_no_command_is_wrong_usage(slmtok):
    ran = slmtok()
    assert (ran.code, ran.out, ran.err) == (2, "", APP.help_text())


def test_version(slmtok):
    import slmtok as package

    assert slmtok("--version").out == slmtok("-V").out == f"slmtok {package.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_has_help(name, slmtok):
    command = APP.command(name)
    assert command.help
    assert command.name == name
    ran = slmtok(name, "--help")
    assert ran.code == 0
    assert f"slmtok {name}" in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_common_flags(name):
    flags = {flag for param in APP.command(name).params for flag in param.opts}
    assert flags >= {"--json", "--quiet", "-q", "--traceback"}
    assert ("--output" in flags) == ("--force" in flags)


@pytest.mark.parametrize(
    "line",
    [
        "import slmtok",
        "import slmtok.cli; slmtok.cli.main(['--help'])",
        "import slmtok.cli; slmtok.cli.main(['trian'])",
    ],
)
def test_starting_imports_nothing_heavy(line, environment):
    heavy = ["numpy", "rich", "pydantic", "slmtok._native"]
    code = f"{line}\nimport sys\nfound = [name for name in {heavy} if name in sys.modules]\nassert not found, found"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_unknown_command_suggests_only_what_is_surely_meant(slmtok):
    names = ", ".join(COMMANDS)
    ran = slmtok("trian", "corpus.txt", "--vocab", "300")
    assert ran.code == 2
    assert ran.err == (
        "error: unknown command 'trian'; did you mean 'train'?\n"
        f"  limit: commands: {names}\n"
        "  fix:   besides, there is no file or folder 'corpus.txt'; "
        "with that mended: slmtok train corpus.txt --vocab 300\n"
    )
    ran = slmtok("frobnicate")
    assert ran.code == 2
    assert ran.err == f"error: unknown command 'frobnicate'\n  limit: commands: {names}\n  fix:   slmtok --help\n"


def test_unknown_option(slmtok):
    ran = slmtok("train", "a.txt", "--vocab", "300", "--min-cuont", "3")
    assert ran.code == 2
    assert ran.err == (
        "error: unknown option '--min-cuont'; did you mean '--min-count'?\n"
        "  where: slmtok train\n"
        "  fix:   use --min-count 3\n"
    )


def test_underscores_count_as_hyphens(slmtok, corpus):
    ran = slmtok("train", corpus, "--vocab_size", "300", "--max_token_bytes=8", "-o", "a.json")
    assert ran.code == 0, ran.err
    ran = slmtok("sample_corpus", "--bytes", "1kB", "-o", "s_t.txt", "--quiet")
    assert (ran.code, ran.out) == (0, "")
    assert Path("s_t.txt").is_file()


def test_a_sign_after_a_short_option_is_no_part_of_the_value(slmtok, corpus):
    """As after a long option; the value of another option may begin so."""
    assert slmtok("train", corpus, "--vocab", "300", "-o=a.json").code == 0
    assert slmtok("count", corpus, "--separator", "-o=", "-o=a.counts").code == 0
    assert sorted(path.name for path in Path().glob("*a.[jc]*")) == ["a.counts", "a.json"]
    assert slmtok("encode", corpus, "-t=a.json", "-o=-").out
    assert "--output is empty" in slmtok("train", corpus, "--vocab", "300", "-o=").err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("train", "a.txt", "--vocab", "-5"), "--vocab takes an integer >= 0, not '-5'"),
        (("train", "a.txt", "--vocab", "4096,8192"), "--vocab takes an integer >= 0, not '4096,8192'"),
        (
            ("train", "a.txt", "--vocab", "300", "--scheme", "wordpiece"),
            "--scheme takes one of bpe, word, char, byte, not 'wordpiece'",
        ),
        (
            ("train", "a.txt", "--vocab", "300", "--tie-break", "random"),
            "--tie-break takes one of rank, bytes-greatest, hf, not 'random'",
        ),
        (
            ("train", "a.txt", "--vocab", "300", "--format", "xml"),
            "--format takes one of auto, text, lines, jsonl, json, parquet, tsv, csv, not 'xml'",
        ),
        (
            ("train", "a.txt", "--vocab", "300", "--max-bytes", "20XB"),
            "--max-bytes takes a size such as 5000, 20MB or 1GiB, not '20XB'",
        ),
        (
            ("train", "a.txt", "--vocab", "300", "--max-docs", "20MB"),
            "--max-docs takes a number such as 5000, 20k or 2M, not '20MB', which is a size in bytes",
        ),
        (
            ("encode", "--output-format", "list", "-t", "tok.json"),
            "--output-format takes one of ids, tokens, npy, bin, not 'list'",
        ),
        (("vocab", "tok.json", "--sort", "name"), "--sort takes one of id, bytes, not 'name'"),
    ],
)
def test_wrong_values_are_wrong_usage(slmtok, arguments, text):
    ran = slmtok(*arguments)
    assert ran.code == 2
    head, fix = ran.err.split("  fix:   ")
    assert head == f"error: {text}\n  where: slmtok {arguments[0]}\n"
    if "," in arguments[-1]:
        assert fix == "--vocab 4096 --vocab 8192\n"
    else:
        assert fix == "--vocab 8192, for instance\n" if "--vocab takes" in text else fix.startswith(text.split()[0])


def test_missing_values_and_arguments(slmtok):
    ran = slmtok("train", "a.txt")
    assert (ran.code, ran.err) == (
        2,
        "error: --vocab is missing\n"
        "  fix:   besides, there is no file or folder 'a.txt'; with that mended: "
        "slmtok train a.txt --vocab 8192 --allow-smaller\n",
    )
    ran = slmtok("encode")
    assert ran.code == 2
    assert ran.err.startswith("error: --tokenizer is missing\n  where: slmtok encode\n  fix:   slmtok encode ")
    ran = slmtok("vocab")
    assert ran.code == 2
    assert ran.err.startswith("error: TOK is missing\n")


def test_errors_as_json(slmtok):
    ran = slmtok("info", "nothing.json", "--json")
    assert ran.code == 1
    content = ran.json
    assert content["schema"] == "slmtok.info/1"
    assert content["ok"] is False
    assert content["result"] is None
    assert content["error"]["class"] == "MissingInput"
    assert content["error"]["fields"] == {"path": "nothing.json"}
    assert content["error"]["message"] == (
        "no file 'nothing.json'\n  where: the folder '.'\n"
        "  fix:   check the name; paths are relative to the working folder"
    )
    assert ran.err == f"error: {content['error']['message']}\n"
    assert slmtok("trian", "--json").json["error"]["class"] == "UnknownName"


def test_traceback_only_when_asked(slmtok):
    assert "Traceback" not in slmtok("info", "nothing.json").err
    assert "Traceback" in slmtok("info", "nothing.json", "--traceback").err


def test_a_fault_of_ours_is_told_as_one(slmtok, monkeypatch, tok):
    from slmtok import file_kinds

    def broken(path: str) -> bytes:
        raise ZeroDivisionError("by accident")

    monkeypatch.setattr(file_kinds, "read_head", broken)
    ran = slmtok("info", tok)
    assert ran.code == 1
    assert ran.err == (
        "error: unexpected ZeroDivisionError: by accident\n"
        "  limit: this is a fault of slmtok, not of your input\n"
        "  fix:   run it again with --traceback and report what it prints\n"
    )


@pytest.mark.parametrize(
    "library", ("libgomp.so.1: cannot allocate memory", "_native.abi3.so: failed to map segment from shared object")
)
def test_a_library_without_room_in_memory_is_no_fault_of_ours(slmtok, monkeypatch, tok, library):
    from slmtok import file_kinds

    def unloaded(path: str) -> bytes:
        raise ImportError(f"Importing a library failed.\n\nThe original error was: {library}\n")

    monkeypatch.setattr(file_kinds, "read_head", unloaded)
    remedy = "  fix:   free memory, raise its limit (ulimit -v), or give less at a time\n"
    assert slmtok("info", tok).err == f"error: not enough memory: {library}\n{remedy}"


def test_names_of_files_forge_no_lines(slmtok, tmp_path):
    for name in ("x\n  fix:   run this.txt", "\u202ebidi\u2066.txt"):
        (tmp_path / name).write_text("the cat")
        err = slmtok("encode", name, "-t", name).err
        assert len(err.splitlines()) == 3 and "\u202e" not in err and "\u2066" not in err, err


def test_control_characters_do_not_reach_the_terminal(slmtok):
    for given in (["info", "a\x1b[2Jb"], ["info", "a\x9b2Jb"], ["encode", "a", "b\x9b31m", "c"]):
        ran = slmtok(*given)
        assert ran.code in (1, 2)
        assert not {"\x1b", "\x9b"} & set(ran.err), ran.err


def test_closed_pipe_ends_quietly(command: Callable[..., subprocess.Popen[bytes]], tok):
    process = command("vocab", tok)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()


def test_closed_pipe_after_a_line(tok, environment):
    line = f"'{sys.executable}' -m slmtok encode --output-format tokens --document line -t '{tok}' /dev/stdin"
    text = b"a line of text\n" * 200_000
    done = subprocess.run(
        ["sh", "-c", f"{line} | head -1"], env=environment, input=text, capture_output=True, check=False
    )
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1


def test_interrupted_before_the_command_began(slmtok, monkeypatch):
    def interrupted(*arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(APP), "command", interrupted)
    ran = slmtok("info", "a.json")
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted\n")


def test_help_without_docstrings() -> None:
    """`python -OO` leaves them out of the code."""
    line = [sys.executable, "-OO", "-m", "slmtok", "train", "--help"]
    shown = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert "Train a tokenizer on text, or on counts of text." in shown


def options_with_needs(app):
    """(command, option) of each option that needs another."""
    commands = map(app.command, app.commands)
    params = ((command, param) for command in commands for param in command.params)
    return [(command, param) for command, param in params if getattr(param, "needs", None) not in (None, NEVER)]


@pytest.mark.parametrize(
    ("command", "param"), options_with_needs(APP), ids=lambda each: getattr(each, "name", None) or str(each)
)
def test_an_option_without_what_it_needs_is_never_ignored_silently(command, param):
    context = click.Context(command, info_name=command.name)
    flag, value = param.opts[0], [] if param.is_flag else ["7"]
    context.meta["arguments"] = [flag, *value]
    context.set_parameter_source(param.name, ParameterSource.COMMANDLINE)
    fact = f"{' '.join([flag, *value])} has no effect without {param.needs}"
    try:
        assert [*check_needs(context)] == [fact]
        assert param.name in ("force", "memory", "threads")
    except OptionError as error:
        assert (error.fact, error.fields["option"]) == (fact, param.name)
        assert str(error.fix) == f"leave {flag} out, or add {param.needs}"
    needed, word = needed_param(param.needs, command), param.needs.partition(" ")[2]
    context.params[needed.name] = "x" if not word or word.isupper() else word.partition("|")[0]
    assert not [*check_needs(context)]


def test_the_fix_names_the_text_by_the_option_that_is_missing(slmtok):
    Path("a.txt").write_text("a fox saw a fox. " * 50)
    for name, size in {"a": 280, "b": 275}.items():
        slmtok("train", "a.txt", "--vocab", str(size), "--allow-smaller", "-o", f"{name}.json")
    ran = slmtok("report", "a.json", "a.txt", "--max-docs", "1")
    assert (ran.code, ran.err) == (
        2,
        "error: --max-docs 1 has no effect without --on TEXT\n  where: slmtok report\n"
        "  fix:   leave --max-docs out, or slmtok report a.json --max-docs 1 --on a.txt\n",
    )
    ran = slmtok("diff", "a.json", "b.json", "--threads", "1")
    assert (ran.code, ran.err) == (0, "note: --threads 1 has no effect without --on TEXT\n")
    ran = slmtok("audit", "a.json", "--on", "a.txt", "--domain", "a=a*")
    assert ran.code == 0 and "note: --domain 'a=a*' has no effect on slmtok audit\n" in ran.err
    for line in (
        ["prune", "a.json", "--ids", "a.txt", "-o", "c.json"],
        ["export", "a.json", "--output-format=hf", "-o", "c"],
    ):
        assert "--max-bytes 5 has no effect without --" in slmtok(*line, "--max-bytes", "5").err
    for words in (["--format", "text"], ["--document", "line"], ["--text-key", "body"]):
        assert f"{words[0]} {words[1]} has no effect without --on TEXT" in slmtok("bench", *words).err
