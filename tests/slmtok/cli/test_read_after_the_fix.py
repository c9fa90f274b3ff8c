"""Corpora that one fix, pasted as it is printed, makes readable: books, downloads, braces, names of encodings, keys."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import zipfile
from pathlib import Path

import pytest
from printed_fixes import fix_of

SENTENCE = "the evening river went through the old town, and the children sang"


def run_fix(fix: str) -> list[str]:
    """Runs the command before ` # and name`; gives the file that it writes, and the options behind."""
    command, _, rest = fix.partition(" # and name ")
    subprocess.run(command, shell=True, check=True)
    with_options = rest.partition("with ")[2].partition(";")[0] if "with " in rest else ""
    return [shlex.split(command)[-1], *shlex.split(with_options)]


def documents(slmtok, *line: str) -> int:
    ran = slmtok("count", *line, "-o", "read.counts", "--force", "--json")
    assert ran.code == 0, ran.err
    return ran.json["result"]["documents"]


def book(path: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("OEBPS/1.xhtml", f"<html><body><p>{SENTENCE} &amp; 1</p></body></html>")
        archive.writestr("OEBPS/style.css", "p {color: red}")


def test_the_pages_of_books_become_text(slmtok) -> None:
    Path("books").mkdir()
    book("books/a.epub")
    book("b.epub")
    made = run_fix(fix_of(slmtok("count", "b.epub", "-o", "x")))
    assert Path(made[0]).read_text().split() == f"{SENTENCE} & 1".split()
    book("books/c.epub")
    fix = fix_of(slmtok("count", "books", "-o", "x"))
    subprocess.run(fix.partition(" # and name books/*-text.txt")[0], shell=True, check=True)
    assert documents(slmtok, *map(str, Path("books").glob("*-text.txt"))) == 2


def test_a_download_that_is_not_complete_is_no_text(slmtok) -> None:
    Path("dl").mkdir()
    Path("dl/a.txt").write_text(SENTENCE)
    Path("dl/b.txt.part").write_text(SENTENCE)
    Path("dl/c.jsonl.crdownload").write_text('{"text": "a"}\n{"te')
    Path("dl/d.txt.gz.part").write_bytes(gzip.compress(SENTENCE.encode())[:-9])
    fix = fix_of(slmtok("count", "dl", "-o", "x"))
    assert fix.startswith("fetch it again, or --exclude '*.part' --exclude '*.crdownload', or ")
    assert documents(slmtok, "dl", *shlex.split(fix.split(", or ")[1])) == 1
    assert fix_of(slmtok("count", "dl/d.txt.gz.part", "-o", "x")).startswith("fetch it again, or --format text")
    Path("bible.part").write_text(SENTENCE)
    assert documents(slmtok, "bible.part") == 1


def test_braces_in_quotes_are_listed(slmtok) -> None:
    for name in ("a", "b"):
        Path(f"{name}.txt").write_text(SENTENCE)
        Path(name).mkdir()
        Path(f"{name}/1.txt").write_text(SENTENCE)
    assert fix_of(slmtok("count", "{a,b}.txt", "-o", "x")) == "name a.txt b.txt"
    assert fix_of(slmtok("count", "{a,b}/*.txt", "-o", "x")) == "name 'a/*.txt' 'b/*.txt'"
    assert fix_of(slmtok("count", "{a,c}.txt", "-o", "x")) != "name a.txt c.txt"


@pytest.mark.parametrize(
    ("text", "encoding", "fix"),
    [
        (
            "私はその人を常に先生と呼んでいた。だからここでも先生と書く。",
            "shift_jis",
            "--encoding shift_jis, in which ",
        ),
        (SENTENCE, "utf-16", "--encoding utf-16"),
        ("Größe", "utf-8", "leave --encoding out: the text is UTF-8"),
    ],
)
def test_an_encoding_that_is_to_be_found_out(slmtok, text: str, encoding: str, fix: str) -> None:
    Path("a.txt").write_bytes((text * 40).encode(encoding))
    assert fix_of(slmtok("count", "a.txt", "-o", "x", "--encoding", "auto")).startswith(fix)


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson"])
def test_records_that_name_their_text_in_two_ways(slmtok, name: str) -> None:
    Path(name).write_text("".join(json.dumps({"Text" if n % 2 else "text": SENTENCE}) + "\n" for n in range(40)))
    assert documents(slmtok, *run_fix(fix_of(slmtok("count", name, "-o", "x")))) == 40


def test_records_in_quotes_are_taken_out_of_compressed_files(slmtok) -> None:
    lines = "".join(json.dumps(json.dumps({"text": SENTENCE})) + "\n" for _ in range(20))
    Path("a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert documents(slmtok, *run_fix(fix_of(slmtok("count", "a.jsonl.gz", "-o", "x")))) == 20


@pytest.mark.parametrize(
    ("rows", "width"),
    [
        (["Id;Text;Date", *(f"{n};{SENTENCE} {n};2024" for n in range(20))], 20),
        (["sep=;", "Id;Body", *(f"{n};{SENTENCE} {n}" for n in range(20))], 20),
        ([f"LJ001-{n}|{SENTENCE}, {n}|{SENTENCE}, {n} {SENTENCE}" for n in range(20)], 20),
    ],
)
def test_a_table_with_other_marks_has_its_column_at_once(slmtok, rows: list[str], width: int) -> None:
    Path("a.csv").write_text("\n".join(rows) + "\n")
    assert documents(slmtok, *run_fix(fix_of(slmtok("count", "a.csv", "-o", "x")))) == width


def test_pairs_of_surrogates_become_characters(slmtok) -> None:
    text = f"{SENTENCE} 😀 é\n" * 40
    Path("a.txt").write_bytes(text.replace("😀", "\ud83d\ude00").encode("utf-8", "surrogatepass"))
    err = slmtok("count", "a.txt", "-o", "x").err
    assert "a.txt is CESU-8" in err
    command = err[err.index("python -c") : err.index(" # and name a-utf-8.txt, with --force")]
    subprocess.run(command, shell=True, check=True)
    assert Path("a-utf-8.txt").read_text() == text
