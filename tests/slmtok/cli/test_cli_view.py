"""`slmtok view`: its arguments and its errors; what the page does is tested in tests/slmtok/pages."""

from __future__ import annotations

import gzip
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from printed_fixes import fix_of

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


def test_each_of_two_texts_gets_a_page(slmtok, tok) -> None:
    Path("a.txt").write_text("one text")
    Path("b.txt").write_text("two texts")
    ran = slmtok("view", tok, "a.txt", "b.txt", "-o", "p.html")
    assert "error: 'a.txt' and 'b.txt' are texts, and the text is one argument" in ran.err
    lines = fix_of(ran).split(" && ")
    assert [line.rpartition(" < ")[2] for line in lines] == ["a.txt", "b.txt"]
    for line, text in zip(lines, (b"one text", b"two texts"), strict=True):
        assert slmtok(*shlex.split(line.rpartition(" < ")[0])[1:], stdin=text).code == 0
    named = library.view({Path(tok).name: library.load(tok)}, "two texts")
    assert Path("p-b.html").read_text("utf-8") == named.html and not Path("p.html").exists()
    assert fix_of(slmtok("show", tok, "a.txt", "b.txt")).endswith(f"&& slmtok show {tok} - < b.txt")
    assert "-o tokens-a.html < a.txt && " in fix_of(slmtok("view", tok, "a.txt", "b.txt"))


@pytest.mark.parametrize("encoding", ["cp1251", "utf-16"])
def test_a_text_in_another_encoding(slmtok, tok, encoding: str) -> None:
    data = ("Привет, мир. Это текст по-русски.\n" * 9).encode(encoding)
    Path("ru.txt").write_bytes(data)
    note = slmtok("view", tok, "ru.txt", "-o", "p.html").err
    convert, _, line = note.partition("; ")[2].removesuffix(" shows its text\n").partition(" | ")
    assert convert == f"iconv -f {encoding} -t utf-8 ru.txt"
    fix = fix_of(slmtok("view", tok, "-", "-o", "q.html", stdin=data))
    assert fix == f"pipe it through iconv -f {encoding} -t utf-8" and not Path("q.html").exists()
    text = subprocess.run(shlex.split(convert), check=True, capture_output=True).stdout
    assert slmtok(*shlex.split(line)[1:], stdin=text).code == 0
    page = library.view({Path(tok).name: library.load(tok)}, data.decode(encoding))
    assert Path("p.html").read_text("utf-8") == page.html


def test_a_file_without_text_is_named(slmtok, tok, tmp_path: Path) -> None:
    """iconv was proposed for an array whose bytes are letters in another encoding."""
    ids = library.load(tok).encode("hello world " * 50).astype("<u2")
    np.save("ids.npy", ids)
    Path("w.safetensors").write_bytes((64).to_bytes(8, "little") + b'{"a":' + b"\xe9t\xe9 " * 40)
    Path("raw.bin").write_bytes(ids.tobytes())
    for command in ("view", "show"):
        note = slmtok(command, tok, "ids.npy").err
        assert "note: 'ids.npy' was taken as the text, and is the name of a file: a numpy array; if it holds " in note
        line = note.partition("ids, ")[2].removesuffix(" shows their text\n")
        assert line == f"slmtok decode ids.npy -t {tok}" and slmtok(*line.split()[1:]).out == "hello world " * 50
        for name, what in (
            ("w.safetensors", "a file of tensors (safetensors)"),
            ("raw.bin", "binary data (it has zero bytes)"),
        ):
            err = slmtok(command, tok, name, *["--force"] * (command == "view")).err
            assert err.endswith(f"note: {name!r} was taken as the text, and is the name of a file: {what}\n")
    ran = slmtok("view", tok, "-", "-o", "q.html", stdin=Path("ids.npy").read_bytes())
    assert ran.err.startswith("error: the text has a byte that is not UTF-8 at 0: it is a numpy array\n")
    assert "iconv" not in ran.err and not Path("q.html").exists()


def test_a_compressed_text_is_decompressed(slmtok, tok, tmp_path: Path) -> None:
    """Its bytes were piped in, which are no text."""
    Path("a.txt.gz").write_bytes(gzip.compress(b"hello world " * 50))
    note = slmtok("show", tok, "a.txt.gz").err
    convert, _, line = note.partition("; ")[2].removesuffix(" shows its text\n").partition(" | ")
    assert (convert, line) == ("gzip -dc a.txt.gz", f"slmtok show {tok} -")
    text = subprocess.run(shlex.split(convert), check=True, capture_output=True).stdout
    assert slmtok(*shlex.split(line)[1:], stdin=text).out == slmtok("show", tok, "hello world " * 50).out
