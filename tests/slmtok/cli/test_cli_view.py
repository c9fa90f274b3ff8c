"""`slmtok view`: its arguments and its errors; what the page does is tested in tests/slmtok/pages."""

from __future__ import annotations

from pathlib import Path

import pytest

import slmtok as library


def test_writes_one_page(slmtok, tok, tmp_path: Path):
    done = slmtok("view", tok, "hello", "-o", "p.html", "--json")
    assert done.json["result"] == {
        "path": "p.html",
        "tokenizers": [str(tok)],
        "bytes": (tmp_path / "p.html").stat().st_size,
    }
    named = library.view({Path(tok).name: library.load(tok)}, "hello")
    assert (tmp_path / "p.html").read_text("utf-8") == named.html
    assert slmtok("view", tok, "-", "-o", "-", stdin=b"hello").out == named.html


def test_tokenizers_of_one_file_name_keep_their_folders(slmtok, tok, tmp_path: Path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "tok.json").write_bytes(Path(tok).read_bytes())
    both = library.view({name: library.load(tok) for name in ("a/tok.json", "b/tok.json")})
    assert slmtok("view", "a/tok.json", "-t", "b/tok.json", "-o", "-").out == both.html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no tokenizer is named"),
        (("hello there",), "'hello there' is a text, and no tokenizer is named"),
        (("TOK", "-o", "-", "--open"), "--open together with -o -, which is stdout"),
        (("TOK", "x" * 1048577), "the text has 1,048,577 bytes or more"),
        (("TOK", "-o", "old.html"), "output 'old.html' exists"),
        (("TOK", "-o", "nodir/p.html"), "no folder 'nodir'"),
        (("TOK", "one", "two"), "'one' is not a tokenizer, and"),
    ],
)
def test_wrong_arguments(slmtok, tok, tmp_path: Path, arguments: tuple[str, ...], message: str):
    (tmp_path / "old.html").write_text("mine")
    done = slmtok("view", *(tok if each == "TOK" else each for each in arguments))
    assert done.code in (1, 2)
    assert message in done.err
    assert (tmp_path / "old.html").read_text() == "mine"
    assert not (tmp_path / "tokens.html").exists()


def test_text_that_is_not_utf8(slmtok, tok):
    done = slmtok("view", tok, "-", stdin=b"ab\xff")
    assert (done.code, done.err.splitlines()[0]) == (1, "error: the text has a byte that is not UTF-8 at 2")
