"""Names with a space that stand without quotes: the fix is the line with quotes."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import slmtok as package
from slmtok.cli.train import train
from slmtok.cli.unquoted import with_quotes

TEXT = "the cat sat on the mat, and the dog sat by the door. " * 20


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with texts and tokenizers, also under names with spaces; it is the working folder."""
    for name in ("a.txt", "My texts.txt"):
        (tmp_path / name).write_text(TEXT)
    package.train("a.txt", vocab_size=290).save("tok.json")
    package.train("a.txt", vocab_size=280).save("My tok 2.json")
    (tmp_path / "My runs").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        # Without the rule, the ids of the name itself were the fix.
        "encode My texts.txt -t tok.json": "slmtok encode 'My texts.txt' -t tok.json",
        "train My texts.txt --vocab 280 -o t.json": "slmtok train 'My texts.txt' --vocab 280 -o t.json",
        "pack My texts.txt -t My tok 2.json -o d": "slmtok pack 'My texts.txt' -t 'My tok 2.json' -o d",
        "eval tok.json My tok 2.json --on a.txt": "slmtok eval tok.json 'My tok 2.json' --on a.txt",
        "eval tok.json --on=My texts.txt": "slmtok eval tok.json '--on=My texts.txt'",
        "pack a.txt -t tok.json -o My runs/new": "slmtok pack a.txt -t tok.json -o 'My runs/new'",
        # The next fault of the line with quotes.
        "train My texts.txt --vocab 1 000 -o t.json": "slmtok train 'My texts.txt' --vocab 1000 -o t.json",
        "train My texts.txt --vocb 280 -o t.json": "use --vocab 280",
    }.items(),
)
def test_a_name_with_a_space_gets_quotes(slmtok, here, line, fix):
    before = {*here.rglob("*")}
    ran = slmtok(*shlex.split(line))
    assert f"  fix:   {fix}\n" in ran.err and {*here.rglob("*")} == before
    if fix.startswith("slmtok ") and "1000" not in fix:
        assert slmtok(*shlex.split(fix)[1:]).code == 0


def test_another_fault_of_a_line_is_not_one_of_its_names(slmtok, here):
    """`tok.json` is damaged; the words of the text are a file, too."""
    (here / "tok.json").write_text("{")
    ran = slmtok("show", "tok.json", "My texts.txt")
    assert ran.code != 0 and "'My texts.txt'" not in ran.err


def test_words_that_are_paths_stay_apart(here):
    (here / "a.txt My").write_text("")
    assert with_quotes(["a.txt", "tok.json", "no", "file"], train) == ["a.txt", "tok.json", "no", "file"]
    assert with_quotes(["a.txt", "My", "texts.txt"], train) == ["a.txt My", "texts.txt"]
    (here / "My").write_text("")
    assert with_quotes(["a.txt", "My"], train) == ["a.txt", "My"]
    (here / "280 a.txt").write_text("")
    assert with_quotes(["--vocab", "280", "a.txt"], train) == ["--vocab", "280", "a.txt"]
