"""Text that is more than prose: what a note calls it, and what its command, pasted, makes of it."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import warnings
from pathlib import Path

import pytest

import slmtok as package
from slmtok.corpus.text_kinds import KINDS, kind_of

SENTENCE = "the evening river went through the old town, and the children sang"
PAGES = [f"{SENTENCE} {number}\n\näiti\n" for number in range(3)]
MAIL = (
    "From a@b.c Sat Jan  3 01:05:34 1996\nFrom: A <a@b.c>\nContent-Type: text/plain; charset=utf-8\n"
    "Content-Transfer-Encoding: quoted-printable\n\nGr=C3=BC=C3=9Fe\n>From the south\n\n"
    "From a@b.c Sat Jan  3 01:05:35 1996\nContent-Type: text/html; charset=utf-8\n\n<p>Tea &amp; bread</p>\n"
    "From a@b.c Sat Jan  3 01:05:36 1996\nContent-Type: text/plain; charset=x-unknown\n\nIt rained\n"
)
EML = (
    "Delivered-To: b@b.c\r\nReceived: by host\r\n        id 1\r\nMIME-Version: 1.0\r\nFrom: A <a@b.c>\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n\r\nGrüße\r\nIt rained\r\n"
)
FB2 = '<?xml version="1.0" encoding="UTF-8"?><FictionBook><body><p>One ends</p><p>Two begins</p></body></FictionBook>'
ASS = (
    "\ufeff[Script Info]\r\nTitle: x\r\n\r\n[Events]\r\nFormat: Layer, Start\r\n"
    "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\i1}It rained,\\Nand snowed\r\n"
)
VTT = (
    f"WEBVTT\nKind: captions\n\n1\n00:01.000 --> 00:02.000\n<v Anna>{SENTENCE}</v>\n\n00:03.000 --> 00:04.000\n1 < 2\n"
)
CONLL = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP B-PER\nran VBD B-VP O\n"
SQL = "CREATE TABLE `a` (id int);\nINSERT INTO `a` VALUES (1,'Bread');\n"


def wet(pages: list[str]) -> bytes:
    records = [("warcinfo", b"software: x\r\n"), *(("conversion", page.encode()) for page in pages)]
    return b"".join(
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body + b"\r\n\r\n"
        for kind, body in records
    )


def note_of(slmtok, name: str) -> str:
    """The note on a kind of text, with --force because the counts are there."""
    ran = slmtok("count", name, "-o", "new.counts", "--force")
    assert ran.code == 0, ran.err
    (note,) = [each for each in ran.err.splitlines() if each.endswith(" --force") and "read as text; " in each]
    return note.removeprefix("note: ")


def pasted(note: str) -> list[str]:
    """The files that the command of a note makes, which it names."""
    command, _, named = note.partition("read as text; ")[2].removesuffix(", with --force").rpartition(" # and name ")
    subprocess.run(["bash", "-c", command], check=True)
    target = command.rpartition(" > ")[2] if named == "it" else named
    return [str(path) for path in sorted(Path().glob(target))]


def texts_in(name: str) -> list[str]:
    data = Path(name).read_text()
    return [json.loads(line)["text"] for line in data.splitlines()] if name.endswith("jsonl") else data.split("\n")


@pytest.mark.parametrize(
    ("name", "data", "said", "made", "texts"),
    [
        ("CC.warc.wet", wet(PAGES), "text of the web (WET), and its headers", "CC.warc-text.jsonl", PAGES),
        (
            "CC.warc.wet.gz",
            gzip.compress(wet(PAGES[:1])) + gzip.compress(wet(PAGES[1:])),
            "text of the web (WET), and its headers",
            "CC.warc-text.jsonl",
            PAGES,
        ),
        (
            "a.mbox",
            MAIL,
            "mail, and its headers",
            "a-text.jsonl",
            ["Grüße\nFrom the south\n\n", " Tea & bread \n", "It rained\n"],
        ),
        ("a.eml", EML, "mail, and its headers", "a-text.jsonl", ["Grüße\nIt rained\n"]),
        ("1700.M1:2,S", EML, "mail, and its headers", "1700-text.jsonl", ["Grüße\nIt rained\n"]),
        ("b.fb2", FB2, "XML, and its tags", "b-text.txt", ["One ends Two begins", ""]),
        ("a.ass", ASS, "subtitles (ASS), and its time codes", "a-text.txt", ["It rained, and snowed", ""]),
        ("a.vtt", VTT, "subtitles (WebVTT), and its time codes", "a-text.txt", [SENTENCE, "", "1 < 2", ""]),
        ("c.txt", CONLL, "CoNLL, and its columns", "c-text.lines", ["EU rejects", "Peter ran", ""]),
        ("d.txt", "EU B-ORG\nrejects O\n. O\n", "CoNLL, and its columns", "d-text.lines", ["EU rejects .", ""]),
    ],
)
def test_the_command_of_a_note_makes_the_text(
    slmtok, name: str, data: str | bytes, said: str, made: str, texts: list[str]
) -> None:
    Path(name).write_bytes(data if isinstance(data, bytes) else data.encode())
    note = note_of(slmtok, name)
    assert note.startswith(f"{name} is {said} were read as text; ")
    assert pasted(note) == [made]
    assert texts_in(made) == texts
    ran = slmtok("count", made, "-o", "new.counts", "--force", "--json")
    assert ran.json["result"]["documents"] == (1 if made.endswith(".txt") else len([*filter(None, texts)]))
    assert "read as text" not in ran.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"-- MySQL dump 10.13\n--\n\n{SQL}", "is a dump of a database, and its statements were read as text"),
        (SQL, "is a dump of a database, and its statements were read as text"),
        (f"SET NAMES utf8;\nBEGIN;\n{SQL}", "is a dump of a database, and its statements were read as text"),
        ("USE a;\n\nCOPY a (id) FROM stdin;\n1\n", "is a dump of a database, and its statements were read as text"),
        ("PRAGMA foreign_keys=OFF;\nBEGIN;\n", "is a dump of a database, and its statements were read as text"),
        ("WARC/1.1\r\nWARC-Type: response\r\n\r\n", "is pages of the web (WARC), and its headers and tags were read"),
    ],
)
def test_a_kind_without_a_short_program_is_named(slmtok, text: str, said: str) -> None:
    Path("a").write_bytes(text.encode())
    note = note_of(slmtok, "a")
    assert note.startswith(f"a {said}")
    assert "; name a file with its text alone, such as a" in note


@pytest.mark.parametrize("folder", ["subs", "it's here"])
def test_all_files_of_a_folder_are_made_by_one_command(slmtok, folder: str) -> None:
    Path(folder, "more").mkdir(parents=True)
    names = [f"{folder}/e0.vtt", f"{folder}/e1.vtt", f"{folder}/more/e2.vtt"]
    for name in names:
        Path(name).write_text(VTT)
    note = note_of(slmtok, folder)
    said = f"{names[0]} and 2 more files are subtitles (WebVTT), and their time codes were read as text; "
    assert note.startswith(said + "for each in ")
    command, _, named = note.removeprefix(said).removesuffix(", with --force").rpartition(" # and name ")
    subprocess.run(["bash", "-c", command], check=True)
    found = subprocess.run(["bash", "-c", f"ls {named}"], check=True, capture_output=True, text=True).stdout.split("\n")
    assert found == [*(name.replace(".vtt", "-text.txt") for name in names), ""]
    assert {Path(name).read_text() for name in filter(None, found)} == {f"{SENTENCE}\n\n1 < 2\n"}


def test_a_file_of_another_kind_in_the_folder_is_not_rewritten(slmtok) -> None:
    Path("subs").mkdir()
    for name in ("a.txt", "b.txt"):
        Path("subs", name).write_text(VTT)
    Path("subs/c.txt").write_text(SENTENCE)
    assert "name files with their text alone; of the first: sed -E " in note_of(slmtok, "subs")


def test_headers_are_made_to_text_before_their_characters_are_removed(slmtok) -> None:
    """Without its carriage returns, the lengths in the headers of WET are wrong."""
    Path("a.wet").write_bytes(wet(PAGES))
    err = slmtok("count", "a.wet", "-o", "a.counts").err
    assert "carriage returns in the text were kept; first do what the note on text of the web (WET) says\n" in err


@pytest.mark.parametrize(("end", "made"), [(b"\r", "one\ntwo\n"), (b"\r\n", "one\ntwo\n")])
def test_carriage_returns_are_removed_from_all_files_of_a_folder(slmtok, end: bytes, made: str) -> None:
    Path("d").mkdir()
    for name in "abc":
        Path(f"d/{name}.txt").write_bytes(b"one" + end + b"two" + end)
    err = slmtok("count", "d", "-o", "a.counts").err
    command, _, named = err[err.index("for each in ") :].partition("\n")[0].partition(" # and name ")
    assert named == "d/*-clean.txt, with --force"
    subprocess.run(["bash", "-c", command], check=True)
    assert [Path(f"d/{name}-clean.txt").read_text() for name in "abc"] == [made] * 3


def test_line_feeds_are_made_of_carriage_returns_only_where_no_file_has_both(slmtok) -> None:
    Path("d").mkdir()
    Path("d/a.txt").write_bytes(b"one\rtwo\r")
    Path("d/b.txt").write_bytes(b"one\r\ntwo\r\n")
    assert "tr '\\r' '\\n' < d/a.txt > a-clean.txt # and name it" in slmtok("count", "d", "-o", "a.counts").err


def test_marks_of_spark_are_left_out(slmtok) -> None:
    Path("d").mkdir()
    Path("d/part-00000.jsonl").write_text(json.dumps({"text": SENTENCE}) + "\n")
    Path("d/_SUCCESS").touch()
    Path("d/_committed_123").write_text('{"added":["part-00000"]}')
    options = "--exclude _SUCCESS --exclude '_committed_*'"
    assert f"  fix:   {options}" in slmtok("count", "d", "-o", "a.counts").err
    ran = slmtok("count", "d", *shlex.split(options), "-o", "b.counts", "--json")
    assert ran.json["result"]["documents"] == 1
    Path("d/_intro.txt").write_text(SENTENCE)
    assert "Spark" not in slmtok("count", "d", *shlex.split(options), "-o", "c.counts").err


def test_notebooks_of_a_folder_are_made_to_text(slmtok) -> None:
    Path("nb").mkdir()
    cells = [{"cell_type": "code", "source": ["a\n", "b"]}, {"cell_type": "markdown", "source": SENTENCE}]
    for name in ("a", "b"):
        Path(f"nb/{name}.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    ran = slmtok("count", "nb", "-o", "a.counts")
    assert ran.err.startswith("error: nb/a.ipynb is a notebook, not text\n")
    fix = ran.err.partition("  fix:   ")[2].splitlines()[0]
    command, _, named = fix.rpartition(" # and name ")
    assert named == "nb/*-text.txt"
    subprocess.run(["bash", "-c", command], check=True)
    assert Path("nb/b-text.txt").read_text() == f"a\nb\n\n{SENTENCE}\n\n"
    assert slmtok("count", "nb/a-text.txt", "nb/b-text.txt", "-o", "a.counts").code == 0
    assert "--exclude '*.ipynb'" in slmtok("count", "nb", "-o", "b.counts").err


def test_a_call_of_python_warns_of_a_kind_of_text(slmtok) -> None:
    Path("a.vtt").write_text(VTT)
    with pytest.warns(UserWarning, match=r"^a.vtt is subtitles \(WebVTT\), and its time codes were read as text; sed "):
        package.count("a.vtt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        package.count("a.vtt", format="text")


@pytest.mark.parametrize(
    "text",
    [
        "From here on, it rained at 10:30 each day.\nMary: yes\n",
        "From: Mary\nTo: Peter\nSubject: rain\n\nIt rained.\n",
        "Received: two letters\nMary: yes\n",
        "I O\nAm B\nHe C\n",
        "-- MySQL is a database\nIt stores rows.\n",
        "CREATE TABLE is a statement of SQL.\n",
        "Use the oven; it is hot.\nInsert into it the bread (two).\n",
        "1\n2\n3\n",
        "[Script Info is a header]\n",
        "O O O O\nO O O O O\n",
    ],
)
def test_prose_is_of_no_kind(text: str) -> None:
    assert kind_of("a.txt", text.encode() * 2) is None


def test_looking_at_a_head_is_fast() -> None:
    """No pattern goes back and forth in a head that almost matches it."""
    for head in (
        b"--\n" * 1400,
        b"# a\n" * 1024,
        b"a b " * 1024,
        b"CREATE TABLE" + b"\nINSERT INT" * 360,
        b"/*\n" * 1400,
        b"From: a\n b\n" * 400,
    ):
        for kind in KINDS:
            assert kind.begins.match(head) is None


@pytest.mark.parametrize("corpus", [["a.html"], ["a.html", "b.html"], ["pages"]])
def test_a_format_that_names_the_kind_of_the_files(slmtok, corpus: list[str]) -> None:
    Path("pages").mkdir()
    for name in ("a.html", "b.html", "pages/a.html", "pages/b.html"):
        Path(name).write_text(f"<!doctype html><html><body><p>{SENTENCE}</p></body></html>\n")
    ran = slmtok("count", *corpus, "--format", "html", "-o", "x.counts")
    command, _, named = ran.err.rpartition("  fix:   ")[2].strip().rpartition(" # and name ")
    assert named.endswith(" without --format")
    named = named.removesuffix(" without --format")
    subprocess.run(command, shell=True, check=True)
    written = [command.rpartition(" > ")[2]] if named == "it" else [str(each) for each in Path().glob(named)]
    ran = slmtok("count", *written, "-o", "x.counts")
    assert ran.code == 0 and "HTML" not in ran.err and len(written) == (1 if corpus == ["a.html"] else 2)
    Path("c.txt").write_text(SENTENCE)
    assert "fix:   --format auto, or " in slmtok("count", "c.txt", "--format", "html", "-o", "x.counts").err


@pytest.mark.parametrize("names", [["a.html", "b.html", "index"], ["a", "b.htm", "c.html"]])
def test_all_files_of_a_folder_whatever_their_suffixes(slmtok, names):
    """A mirror of a site has pages without a suffix."""
    Path("site").mkdir()
    for number, name in enumerate(names):
        Path("site", name).write_text(f"<!doctype html><html><p>{SENTENCE} {number}</p></html>\n")
    err = slmtok("train", "site", "--vocab", "280", "--allow-smaller", "-o", "tok.json").err
    command, _, named = err[err.index("for each in ") :].partition("\n")[0].partition(" # and name ")
    assert named == "site/*-text.txt, with --force"
    subprocess.run(command, shell=True, check=True)
    texts = [path.read_text().split() for path in sorted(Path("site").glob("*-text.txt"))]
    assert texts == [[*SENTENCE.split(), str(number)] for number in range(3)]
    Path("site/other").write_text(SENTENCE)
    assert "for each in " not in slmtok("train", "site", "--vocab", "280", "--allow-smaller", "--force").err
