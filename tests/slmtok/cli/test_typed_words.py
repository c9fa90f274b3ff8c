"""Words that are typed or pasted with more than a command takes: signs of a shell, of an editor, and blank words."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from printed_fixes import fix_of

import slmtok as package

NBSP = "\N{NO-BREAK SPACE}"


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with a text and a tokenizer; it is the working folder."""
    (tmp_path / "a.txt").write_text("the cat sat on the mat, and the dog sat by the door. " * 20)
    package.train("a.txt", vocab_size=290).save("tok.json")
    return tmp_path


@pytest.mark.parametrize("word", ["", " ", "\n", "  "])
@pytest.mark.parametrize("line", ["info tok.json", "vocab tok.json", "encode a.txt -t tok.json"])
def test_a_blank_argument_too_many_is_named(slmtok, here, line, word):
    ran = slmtok(*line.split(), word)
    assert fix_of(ran, 2) == f"slmtok {line}" and f"an argument is blank: {word!r}" in ran.err
    assert slmtok(*line.split()).code == 0


def test_an_argument_too_many_may_have_lines(slmtok, here):
    assert fix_of(slmtok("info", "tok.json", "a\nb"), 2).startswith("slmtok info tok.json")


@pytest.mark.parametrize(
    ("words", "sign", "fix"),
    [
        (("a.txt", f"--vocab{NBSP}280"), "NO-BREAK SPACE (U+00A0)", "slmtok train a.txt --vocab 280"),
        (("a.txt", f"{NBSP}--vocab", "280"), "NO-BREAK SPACE", "slmtok train a.txt --vocab 280"),
        ((f"a.txt{NBSP}--vocab", f"280{NBSP}"), "NO-BREAK SPACE", "slmtok train a.txt --vocab 280"),
        (("a.txt", "--\u200bvocab", "280"), "ZERO WIDTH SPACE", "slmtok train a.txt --vocab 280"),
        (("a.txt", f"–vocab{NBSP}280"), "NO-BREAK SPACE", "slmtok train a.txt --vocab 280"),
        (("“a.txt”", "--vocab", "280"), "LEFT DOUBLE QUOTATION MARK", "slmtok train a.txt --vocab 280"),
        (("a.txt", "--vocab=“280”"), "LEFT DOUBLE QUOTATION MARK", "slmtok train a.txt --vocab=280"),
        (
            ("a.txt", "--vocab", "280", "--pattern", "‘gpt2’"),
            "LEFT SINGLE QUOTATION MARK",
            "slmtok train a.txt --vocab 280 --pattern gpt2",
        ),
    ],
)
def test_signs_of_an_editor_are_named(slmtok, here, words, sign, fix):
    ran = slmtok("train", *words)
    assert sign in ran.err and fix_of(ran, 2) == fix
    assert slmtok(*shlex.split(fix)[1:], "-o", "t.json").code == 0


def test_a_text_in_quotes_of_an_editor_is_one_word(slmtok, here):
    fix = fix_of(slmtok("train", "a.txt", "--vocab", "280", "--separator", "“the", "mat,", "and”"), 2)
    assert fix == "slmtok train a.txt --vocab 280 --separator 'the mat, and'"


@pytest.mark.parametrize(
    "words",
    [
        ("show", "tok.json", "“the”"),
        ("show", "tok.json", f"the{NBSP}cat"),
        ("vocab", "tok.json", "--grep", "“"),
        ("vocab", "tok.json", "--grep", "“.*”"),
        ("count", "“a”.txt", "-o", "a.counts"),
        ("show", "tok.json", "#"),
        ("show", "tok.json", ">"),
        ("vocab", "tok.json", "--grep", "#"),
        ("count", "#", "-o", "a.counts"),
    ],
)
def test_texts_values_and_files_with_such_signs_are_what_they_are(slmtok, here, words):
    for name in ("“a”.txt", "#"):
        (here / name).write_text("the cat sat")
    ran = slmtok(*words)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "encode a.txt -t tok.json # back to text": "slmtok encode a.txt -t tok.json",
        "train a.txt --vocab 280 # without --vocab, and --none": "slmtok train a.txt --vocab 280",
        "encode a.txt -t tok.json > ids.txt": "slmtok encode a.txt -t tok.json > ids.txt",
        "encode a.txt -t tok.json >ids.txt": "slmtok encode a.txt -t tok.json >ids.txt",
        "encode a.txt -t tok.json | head": "slmtok encode a.txt -t tok.json | head",
        "info tok.json 2>&1 | tee log": "slmtok info tok.json 2>&1 | tee log",
        "train a.txt --vocab 280 && slmtok info tok.json": "slmtok train a.txt --vocab 280 && slmtok info tok.json",
        "info < tok.json": "slmtok info tok.json",
        "show tok.json hello # a word": "slmtok show tok.json hello",
    }.items(),
)
def test_words_of_a_shell_are_no_arguments(slmtok, here, leftovers, line, fix):
    before = leftovers()
    assert fix_of(slmtok(*line.split()), 2) == fix and leftovers() == before


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "slmtok train a.txt --vocab 280": "slmtok train a.txt --vocab 280",
        "slm train data -o run": "slm train data -o run",
        "slmtok": "slmtok --help",
        "train slmtok train a.txt --vocab 280": "slmtok train a.txt --vocab 280",
        f"train{NBSP}a.txt --vocab 280": "slmtok train a.txt --vocab 280",
    }.items(),
)
def test_a_program_behind_the_program(slmtok, here, line, fix):
    assert fix_of(slmtok(*line.split(" ")), 2) == fix


@pytest.mark.parametrize(
    ("option", "value", "fix"),
    [
        ("--vocab", "1.000", "--vocab 1000"),
        ("--vocab", f"1{NBSP}000", "--vocab 1000"),
        ("--vocab", "1\u202f000", "--vocab 1000"),
        ("--vocab", "1.024.000", "--vocab 1024000"),
        ("--min-count", "1.000", "--min-count 1000, or --min-count 1"),
        ("--max-docs", "1.500", "--max-docs 1500"),
        ("--max-bytes", "2.000", "--max-bytes 2000, or --max-bytes 2"),
    ],
)
def test_signs_between_thousands(slmtok, here, option, value, fix):
    size = [] if option == "--vocab" else ["--vocab", "280"]
    assert fix_of(slmtok("train", "a.txt", *size, option, value, "-o", "t.json"), 2) == fix


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "train a.txt --vocab 4 K -o v.json": "--vocab 4000, or --vocab 4096",
        "train a.txt --vocab=4 K -o v.json": "--vocab 4000, or --vocab 4096",
        "count a.txt --max-bytes=2 MB -o x": "slmtok count a.txt --max-bytes=2MB -o x",
        "train a.txt --vocab 1 000 000 -o v.json": "slmtok train a.txt --vocab 1000000 -o v.json",
    }.items(),
)
def test_a_number_and_its_unit_are_one_word(slmtok, here, line, fix):
    assert fix_of(slmtok(*shlex.split(line)), 2) == fix
