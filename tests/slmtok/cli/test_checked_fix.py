"""The command line that an error proposes would not be refused itself, or the error says what else is wrong."""

from __future__ import annotations

import shlex

import pytest

import slmtok as package


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("low low lower newest newest widest\n" * 30)
    package.train("a.txt", vocab_size=285).save("tok.json")
    return tmp_path


def fix_of(ran):
    return next(line.removeprefix("  fix:   ") for line in ran.err.splitlines() if line.startswith("  fix:   "))


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        # A tokenizer in the place of -t, and an output in that of -o.
        "encode a.txt tok.json ids.txt": "slmtok encode a.txt -t tok.json -o ids.txt",
        "pack a.txt tok.json out": "slmtok pack a.txt -t tok.json -o out",
        "pack a.txt tok.json": "slmtok pack a.txt -o data -t tok.json",
    }.items(),
)
def test_what_is_named_twice_or_absent_is_mended_as_well(slmtok, here, line, fix):
    ran = slmtok(*line.split())
    assert (ran.code, fix_of(ran)) == (2, fix)
    assert slmtok(*shlex.split(fix)[1:]).code == 0


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "encode a.txt none.txt -o ids.txt": "got unexpected extra argument",
        "trian none.txt --vocab 280": "there is no file or folder 'none.txt'",
        "trian a.txt --vocab many": "--vocab takes an integer >= 0, not 'many'",
        "trian a.txt --vocab 280 --sample 2": "--sample ",
        "trian a.txt --vocab 280 --samples 2": "no such option",
    }.items(),
)
def test_what_else_is_wrong_is_said(slmtok, here, line, fix):
    assert f"; besides, {fix}" in fix_of(slmtok(*line.split()))


@pytest.mark.parametrize(
    "line", ["trian a.txt --vocab 280", "trian *.txt --vocab 280", "trian hf:a/b --vocab 280", "train --vocab 280"]
)
def test_a_sound_line_and_one_with_placeholders_stay(slmtok, here, line):
    assert "besides" not in slmtok(*line.split()).err


def test_prose_behind_a_line_is_no_part_of_it(slmtok, here):
    package.pack("a.txt", package.load("tok.json"), "data")
    (here / "data" / "tok.json").unlink()
    assert fix_of(slmtok("decode", "data")) == "slmtok decode data -t TOK names it"
    package.count("a.txt").save("all.counts")
    (here / "a.npy").write_bytes(b"\x93NUMPY" + bytes(99))
    assert fix_of(slmtok("merge", "all.counts", "a.npy", "-o", "z.counts")).endswith(" makes one")
