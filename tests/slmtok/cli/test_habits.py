"""What users of other tools type first: it works, or the error names what stands for it here."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click
import pytest
from shared_data import tiktoken_cache

from slmtok import foreign_options
from slmtok.cli import unknown_options
from slmtok.errors import SlmtokError


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("--num-proc 8", "use --threads 8\n"),
        ("--num_proc=8", "use --threads 8\n"),
        ("--num-proc", "use --threads N\n"),
        ("--dataset my.txt", "; with that mended: slmtok train corpus.txt my.txt\n"),
        ("--dataset", "; with that mended: slmtok train corpus.txt CORPUS\n"),
        ("--special-tokens '<a>,</s>'", "use --special 'a=<a>' --special 'eos=</s>'; "),
        ("--num-merges 8000", "use --vocab 8272, which counts 272 specials and bytes too\n"),
        ("--lr 0.1", "use slm train, which trains a model"),
        *(
            (f"{option} 8", "use slm train, which trains a model")
            for option in ("--batch_size", "--steps", "--epochs", "--max-iters")
        ),
    ],
)
def test_options_of_other_tools(option, remedy, request) -> None:
    ran = request.getfixturevalue("slmtok")("train", "corpus.txt", *shlex.split(option))
    assert ran.code == 2 and remedy in ran.err and "did you mean" not in ran.err, ran.err


def test_every_count_and_size_is_written_with_a_power_of_ten() -> None:
    app, taken = import_module("slmtok.cli").APP, set()
    for name in app.commands:
        for param in app.command(name).params:
            with suppress(click.BadParameter, SlmtokError):
                if (wanted := param.type.convert("1000000000", param, None)) in (10**9, (10**9,)):
                    assert param.type.convert("1e9", param, None) == wanted, (name, param.opts)
                    assert param.type.convert("1.0E+9", param, None) == wanted, (name, param.opts)
                    taken.update(param.opts)
    assert {"--vocab", "--max-tokens", "--subset", "--bytes", "--min-count", "--max-bytes", "--below"} <= taken


@pytest.mark.parametrize("module", ["slmtok.cli", "slmmodel.cli"])
def test_options_of_other_tools_are_translated_to_a_command_line(module) -> None:
    app, translated = import_module(module).APP, 0
    for name in app.commands:
        command = app.command(name)
        context = click.Context(command, info_name=name, parent=click.Context(click.Group(), info_name=app.name))
        known = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
        foreign = {f"--{option.replace('_', '-')}" for option in (*foreign_options._OURS, *foreign_options._FIXES)}
        for flag in sorted({*foreign, *filter(re.compile("--").match, command.habits)} - known):
            context.meta["arguments"] = [flag, "8"]
            line = unknown_options._translated(context, least=1)
            if line and not line.startswith("leave "):
                for words in (shlex.split(part, comments=True) for part in line.split(" && ")):
                    told = app.command(words[1])
                    _, rest, _ = told.make_parser(click.Context(told, parent=context.parent)).parse_args(words[2:])
                    assert {*filter(None, rest)} <= {"8", "hf:8", "demo/data"}, line
                translated += 1
    assert translated > 400


@pytest.mark.parametrize("text", ["3e2", "3E2", "3e+2", "300"])
def test_powers_of_ten_are_integers(slmtok, tmp_path, text) -> None:
    (tmp_path / "a.txt").write_text("the cat")
    assert "--vocab asked for 300" in slmtok("train", "a.txt", "--vocab", text).err


def test_thousands_are_either(slmtok) -> None:
    Path("a.txt").write_text("the cat sat")
    ran = slmtok("train", "a.txt", "--vocab", "8k")
    assert (
        ran.code == 2 and "not '8k'; 8000 or 8192?" in ran.err and "fix:   --vocab 8000, or --vocab 8192\n" in ran.err
    )


def test_help_is_a_command(slmtok) -> None:
    for arguments in (["help"], ["help", "train"]):
        ran, want = slmtok(*arguments), slmtok(*arguments[1:], "--help")
        assert (ran.code, ran.stdout) == (want.code, want.stdout) == (0, want.stdout) and ran.stdout
    assert "unknown command 'nothing'" in slmtok("help", "nothing").err


@pytest.fixture
def ids_of(slmtok, tmp_path):
    """The ids that `slmtok encode -t NAME` prints for one text."""
    (tmp_path / "text.txt").write_text("The cat sat on the mat.")

    def encode(name: str) -> str:
        ran = slmtok("encode", "text.txt", "-t", name)
        assert ran.code == 0, ran.err
        return ran.out

    return encode


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("gpt2", "gpt2"),
        ("gpt-2", "gpt2"),
        ("cl100k_base", "cl100k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4o", "o200k_base"),
        ("tiktoken:gpt-4", "cl100k_base"),
    ],
)
def test_names_of_encodings_and_models(ids_of, monkeypatch, name, encoding) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    assert ids_of(name) == ids_of(f"tiktoken:{encoding}")


def test_a_file_wins_over_a_name(ids_of, slmtok, tmp_path) -> None:
    slmtok("train", "text.txt", "--vocab", "272", "-o", "gpt2")
    assert ids_of("gpt2") == ids_of("./gpt2")


def test_files_of_hugging_face_and_folders(ids_of, slmtok) -> None:
    slmtok("train", "text.txt", "--vocab", "275", "--allow-smaller", "--min-count", "1", "-o", "own.json")
    assert slmtok("export", "own.json", "--output-format", "hf", "-o", "hf", "--no-verify").code == 0
    assert slmtok("pack", "text.txt", "-t", "own.json", "-o", "data").code == 0
    for name in ("hf/tokenizer.json", "hf", "data"):
        assert ids_of(name) == ids_of("own.json"), name


@pytest.fixture
def two_tokenizers(slmtok, tmp_path, story_text):
    """`tok.json` and its slice `small.json` beside `text.txt`; gives the folder."""
    (tmp_path / "text.txt").write_text(story_text)
    assert slmtok("train", "text.txt", "--vocab", "400", "-o", "tok.json").code == 0
    assert slmtok("slice", "tok.json", "--vocab", "300", "-o", "small.json").code == 0
    return tmp_path


@pytest.mark.parametrize(
    ("first", "named"),
    [
        (["encode", "tok.json", "text.txt"], ["encode", "text.txt", "-t", "tok.json"]),
        (["decode", "tok.json", "ids.txt"], ["decode", "ids.txt", "-t", "tok.json"]),
        (["vocab", "tok.json"], ["vocab", "-t", "tok.json"]),
        (["show", "tok.json", "small.json", "a cat"], ["show", "a cat", "-t", "tok.json", "-t", "small.json"]),
        (["encode", "text.txt", "tok.json"], ["encode", "text.txt", "-t", "tok.json"]),
        (["decode", "ids.txt", "tok.json"], ["decode", "ids.txt", "-t", "tok.json"]),
        (["info", "tok.json"], ["info", "-t", "tok.json"]),
        (["verify", "tok.json", "small.json"], ["verify", "-t", "tok.json", "small.json"]),
        (["show", "small.json", "a cat", "tok.json"], ["show", "a cat", "-t", "small.json", "-t", "tok.json"]),
        (["show", "small.json", "tok.json", "a cat"], ["show", "small.json", "-t", "tok.json", "a cat"]),
        (["diff", "tok.json", "small.json"], ["diff", "tok.json", "-t", "small.json"]),
        (["diff", "tok.json", "small.json"], ["diff", "-t", "tok.json", "small.json"]),
        (["eval", "tok.json", "small.json", "--on", "text.txt"],
         ["eval", "tok.json", "-t", "small.json", "--on", "text.txt"]),
        (["diff", "tok.json", "small.json"], ["diff", "--tokenizer=tok.json", "-tsmall.json"]),
        (["eval", "tok.json", "--on", "text.txt"], ["eval", "-t", "tok.json", "--on", "text.txt"]),
    ],
)  # fmt: skip
def test_a_tokenizer_is_named_by_its_place_or_by_an_option(two_tokenizers, slmtok, first, named) -> None:
    (two_tokenizers / "ids.txt").write_text("300 301\n")
    ran, same = slmtok(*first), slmtok(*named)
    assert ran.code == same.code == 0, (ran.err, same.err)
    assert ran.stdout == same.stdout != b""


@pytest.mark.parametrize(
    ("first", "named", "output"),
    [
        (["slice", "tok.json", "--vocab", "350"], ["slice", "-t", "tok.json", "--vocab", "350"], "out"),
        (["extend", "small.json", "text.txt", "--vocab", "310"],
         ["extend", "text.txt", "--vocab", "310", "-t", "small.json"], "out"),
        (["prune", "tok.json", "--unused-on", "text.txt", "--keep", "300"],
         ["prune", "--unused-on", "text.txt", "--keep", "300", "-t", "tok.json"], "out"),
        (["set-special", "tok.json", "user=U"], ["set-special", "user=U", "-t", "tok.json"], "out"),
        (["audit", "tok.json", "--on", "text.txt"], ["audit", "-t", "tok.json", "--on", "text.txt"], "out"),
        (["export", "tok.json", "--output-format", "tiktoken", "--no-verify"],
         ["export", "-t", "tok.json", "--output-format", "tiktoken", "--no-verify"], "out/out.tiktoken"),
        (["pack", "tok.json", "text.txt"], ["pack", "text.txt", "-t", "tok.json"], "out/manifest.json"),
        (["pack", "text.txt", "tok.json"], ["pack", "text.txt", "-t", "tok.json"], "out/manifest.json"),
    ],
)  # fmt: skip
def test_a_tokenizer_in_both_places_gives_the_same_files(two_tokenizers, slmtok, first, named, output) -> None:
    found = []
    for arguments, folder in ((first, "one"), (named, "other")):
        (two_tokenizers / folder).mkdir()
        ran = slmtok(*arguments, "-o", f"{folder}/out", "-q")
        assert ran.code == 0, ran.err
        found.append((two_tokenizers / folder / output).read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["encode", "text.txt"], "--tokenizer is missing"),
        (["pack", "text.txt", "-o", "data"], "--tokenizer is missing"),
        (["pack", "tok.json", "-o", "data"], "CORPUS... is missing"),
        (["slice", "--vocab", "300", "-o", "s.json"], "TOK is missing"),
        (["diff", "-t", "tok.json"], "TOK is missing"),
        (["slice", "tok.json", "-t", "small.json", "--vocab", "300", "-o", "s.json"], "unexpected extra argument"),
    ],
)
def test_a_missing_tokenizer(two_tokenizers, slmtok, arguments, fact) -> None:
    ran = slmtok(*arguments)
    assert ran.code == 2 and fact in ran.err, ran.err


def test_the_text_of_a_benchmark_is_an_option(two_tokenizers, slmtok) -> None:
    ran = slmtok("bench", "tok.json", "text.txt")
    assert ran.code == 2 and "fix:   slmtok bench tok.json --on text.txt\n" in ran.err, ran.err


@pytest.mark.parametrize("program", ["slmtok.cli", "slmmodel.cli"])
def test_every_command_that_takes_a_tokenizer_has_the_option(program) -> None:
    """Training, counting and splitting text make tokenizers or need none."""
    import importlib

    app = importlib.import_module(program).APP
    without = []
    for name in app.commands:
        command = app.command(name)
        options = {flag for param in command.params for flag in param.opts}
        if "TOK" in str([param.metavar for param in command.params if hasattr(param, "metavar")]):
            assert {"-t", "--tokenizer"} <= options, name
        elif "-t" not in options:
            without.append(name)
    assert without == WITHOUT_TOKENIZER[program]


WITHOUT_TOKENIZER = {
    "slmtok.cli": ["train", "count", "merge", "reproduce", "exposure", "align", "sample-corpus", "completion"],
    "slmmodel.cli": [
        "resume",
        "compare",
        "status",
        "plot",
        "report",
        "bench",
        "doctor",
        "info",
        "export",
        "completion",
    ],
}


def test_text_is_no_tokenizer_by_its_place(two_tokenizers, slmtok) -> None:
    (two_tokenizers / "data.json").write_text('[{"text": "a cat"}]')
    assert "--tokenizer is missing" in slmtok("encode", "data.json").err
    of_itself = slmtok("encode", "tok.json", "-t", "tok.json", "--json", "--format", "text").json["result"]["totals"]
    assert of_itself["bytes"] == (two_tokenizers / "tok.json").stat().st_size


@pytest.mark.parametrize("program", ["slmtok", "slm"])
def test_completion_in_bash(program, environment, tmp_path) -> None:
    """The script of `completion bash`, called as the shell calls it."""
    module = {"slmtok": "slmtok", "slm": "slmmodel"}[program]
    command = tmp_path / program
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
    command.chmod(0o755)

    def complete(*words: str) -> set[str]:
        listed = " ".join(f'"{word}"' for word in words)
        script = f'eval "$({program} completion bash)"; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}'
        script += f'; _{program}_completion {program}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        env = {**environment, "PATH": f"{tmp_path}:{environment['PATH']}"}
        ran = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=True)
        assert "Traceback" not in ran.stderr, ran.stderr
        return set(ran.stdout.split())

    assert complete(program, "trai") == {"train"}
    option = {"slmtok": "--max-b", "slm": "--budg"}[program]
    assert complete(program, "train", option) == {"--max-bytes" if program == "slmtok" else "--budget"}
    assert complete(program, "nothing", "--vo") == set()
    if program == "slmtok":
        assert complete(program, "encode", "--output-format", "") == {"ids", "tokens", "npy", "bin"}
        assert complete(program, "encode", "-t", "tok") == set(), "files are completed by bash"


def test_completion_of_other_shells(slmtok, monkeypatch) -> None:
    for shell in ("zsh", "fish", "powershell"):
        assert "_SLMTOK_COMPLETE" in slmtok("completion", shell).out
        assert slmtok("completion", f"/usr/bin/{shell}").out == slmtok("completion", shell).out
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert slmtok("completion").out == slmtok("completion", "fish").out
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    ran = slmtok("completion")
    assert ran.code == 2 and "limit: bash, zsh, fish, powershell" in ran.err
