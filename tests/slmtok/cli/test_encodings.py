"""Text that is read in another encoding than its bytes speak for: the notes, and what they name."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

LINES = "".join(f"Größe über allem; ein schöner Maßstab, Nummer {n}.\n" for n in range(200))


@pytest.fixture
def files(slmtok):
    Path("utf8.txt").write_text(LINES)
    Path("latin.txt").write_bytes(LINES.encode("latin-1"))
    Path("mixed.txt").write_bytes(LINES.encode() + LINES.encode("latin-1"))
    Path("utf16le.txt").write_bytes(LINES.encode("utf-16-le"))
    Path("both").mkdir()
    Path("both/1.txt").write_bytes(LINES.encode("latin-1"))
    Path("both/2.txt").write_text(LINES)
    records = "".join(json.dumps({"text": line}, ensure_ascii=False) + "\n" for line in LINES.splitlines())
    Path("latin.jsonl").write_bytes(records.encode("latin-1"))
    Path("mixed.jsonl").write_bytes(records.encode() + '{"text": "Maß"}\n'.encode("latin-1"))
    Path("ascii.txt").write_text("once upon a time there was a cat\n" * 300)
    assert slmtok("train", "ascii.txt", "--vocab", 300, "--allow-smaller").code == 0
    return slmtok


UTF_8_AS_LATIN = "note: utf8.txt is UTF-8, and its characters beyond ASCII are misread as iso8859-1; run it again with "
LATIN_AS_UTF_8 = (
    "note: latin.txt is not UTF-8 (first: byte 2), and such bytes are kept; for text in Latin-1, for instance, "
)


@pytest.mark.parametrize(
    "line",
    [
        "train utf8.txt --vocab 290 -o x.json",
        "count utf8.txt -o x",
        "pack utf8.txt -t tok.json -o x",
        "encode utf8.txt -t tok.json -o x",
        "eval tok.json --on utf8.txt",
    ],
)
def test_utf_8_read_as_another_encoding_is_noted(files, line):
    """The command of the note reads UTF-8 without another note."""
    ran = files(*line.split(), "--encoding", "latin-1")
    assert ran.code == 0
    assert UTF_8_AS_LATIN in ran.err
    again = ran.err.split(UTF_8_AS_LATIN)[1].splitlines()[0]
    assert again == "--encoding utf-8" + " --force" * (" -o " in line)
    assert "encoding" not in files(*line.split(), *again.split()).err


@pytest.mark.parametrize(
    "line",
    [
        "pack latin.txt -t tok.json -o x",
        "encode latin.txt -t tok.json -o x",
        "eval tok.json --on latin.txt",
        "audit tok.json --on latin.txt",
        "diff tok.json tok.json --on latin.txt",
    ],
)
def test_text_that_is_not_utf_8_is_noted(files, line):
    ran = files(*line.split())
    assert ran.code == 0
    assert LATIN_AS_UTF_8 in ran.err
    again = ran.err.split(LATIN_AS_UTF_8)[1].splitlines()[0].removeprefix("run it again with ")
    assert "encoding" not in files(*line.split(), *again.split()).err
    assert "encoding" not in files(*line.replace("latin.txt", "utf8.txt").split(), *["--force"] * ("-o" in line)).err


def test_files_of_several_encodings_get_no_encoding(files):
    at = f"{len(LINES.encode()) + 2:,}"
    remedy = "mixed.txt has UTF-8 as well, which another --encoding would misread: convert the part that is not, "
    assert f"(first: mixed.txt, byte {at}); " in (err := files("train", "mixed.txt", "--vocab", 290, "-o", "x").err)
    assert remedy in err
    assert remedy in files("pack", "mixed.txt", "-t", "tok.json", "-o", "p").err
    remedy = "both/2.txt is UTF-8, which another --encoding would misread: convert both/1.txt to UTF-8, as it reads"
    assert remedy in files("count", "both", "-o", "y").err
    assert remedy in files("pack", "both", "-t", "tok.json", "-o", "q").err
    ran = files("count", "both", "--encoding", "latin-1", "-o", "z")
    assert "note: both/2.txt is UTF-8, and its characters beyond ASCII are misread as iso8859-1; one --enc" in ran.err


def test_records_in_another_encoding_are_not_skipped_by_the_fix(files):
    assert "--encoding latin-1; or --skip-malformed" in files("count", "latin.jsonl", "-o", "x").err
    assert (
        files("count", "latin.jsonl", "-o", "x", "--encoding", "latin-1", "--json").json["result"]["documents"] == 200
    )
    assert "fix:   --skip-malformed to skip" in files("count", "mixed.jsonl", "-o", "y").err


def test_fix_of_a_wrong_encoding_is_what_the_text_shows(files):
    ran = files("train", "utf16le.txt", "--encoding", "utf-16", "--vocab", 290, "-o", "x.json")
    assert "fix:   --encoding utf-16-le\n" in ran.err
    ran = files("train", "utf8.txt", "--encoding", "ascii", "--vocab", 290, "-o", "x.json")
    assert "fix:   leave --encoding out: the text is UTF-8\n" in ran.err
    ran = files("train", "latin.txt", "--encoding", "ascii", "--vocab", 290, "-o", "x.json")
    assert "fix:   the text is not UTF-8; for text in Latin-1, for instance, --encoding latin-1\n" in ran.err
    assert not Path("x.json").exists()


@pytest.mark.parametrize("encoding", ["koi8-r", "shift_jis", "gbk", "cp1252", "utf-16"])
def test_text_in_the_encoding_that_is_named_gets_no_note(files, encoding):
    texts = {"koi8-r": "её тёплый ёж съел её\n", "shift_jis": "日本語のテキスト\n", "gbk": "中文文本在这里\n"}
    Path("a.txt").write_bytes((texts.get(encoding, "Größe\n") * 50).encode(encoding))
    assert "UTF-8" not in files("count", "a.txt", "--encoding", encoding, "-o", "x").err


@pytest.mark.parametrize("ran", ["count ru -o x", "pack ru -t tok.json -o x", "count ru -o x --encoding koi8-r"])
def test_folder_of_two_encodings_is_converted_at_once(files, ran):
    """The command keeps the files that are UTF-8, so one pass over the folder is enough."""
    Path("ru").mkdir()
    text = "В гавани стояли корабли, и ветер с моря приносил запах соли. " * 20
    for n in range(3):
        Path(f"ru/u{n}.txt").write_text(f"{text}{n}\n")
        Path(f"ru/k{n}.txt").write_bytes(f"{text}{n}\n".encode("koi8-r"))
    err = files(*ran.split()).err
    if "--encoding" not in ran:
        assert "3 files (first: ru/k0.txt) are not UTF-8 and read as words in koi8-r" in err
        assert "3 files (first: ru/u0.txt) are UTF-8, which another --encoding would misread: " in err
    command = err[err.index("for each in") : err.index(" # and name ru/*-utf-8.txt")]
    subprocess.run(["sh", "-c", command], check=True)
    made = sorted(Path("ru").glob("*-utf-8.txt"))
    assert [each.read_text() for each in made] == [f"{text}{n}\n" for n in (*range(3), *range(3))]


def test_conversion_of_a_folder_takes_no_file_that_was_not_named(files):
    text = "В гавани стояли корабли, и ветер с моря приносил запах соли. " * 20
    for name in ("k0", "k1"):
        Path(f"{name}.txt").write_bytes(text.encode("koi8-r"))
    Path("u0.txt").write_text(text)
    assert "*" not in files("count", "k0.txt", "k1.txt", "u0.txt", "-o", "x").err


def test_table_in_utf_16_has_its_header(files):
    rows = "".join(f"{n}\tThe harbour was quiet, and the ships slept: {n}.\n" for n in range(200))
    Path("export.txt").write_bytes(f"id\ttext\n{rows}".encode("utf-16"))
    err = files("count", "export.txt", "-o", "x", "--encoding", "utf-16").err
    assert "looks like tsv (id, text)" in err
    assert "run it again with --format tsv --text-key text --force" in err
    Path("lines.txt").write_bytes(
        "".join(json.dumps({"text": line}) + "\n" for line in rows.split("\n")).encode("utf-16")
    )
    assert "looks like JSON lines" in files("count", "lines.txt", "-o", "y", "--encoding", "utf-16").err


@pytest.mark.parametrize("corpus", ["mixed", "mixed/*.txt"])
@pytest.mark.parametrize("names", [["odd"], ["odd", "rest/odd"]])
def test_files_in_utf_16_among_others_are_converted(files, corpus, names):
    """Naming UTF-16 refuses the other files, so that its fix and that of the other error would lead in a circle."""
    corpus = corpus.replace("*", "**/*")
    Path("mixed/rest").mkdir(parents=True)
    for name in (*(f"c{n}" for n in range(5)), "rest/odd"):
        Path(f"mixed/{name}.txt").write_text("Größe und Güte\n" * 20)
    for name in names:
        Path(f"mixed/{name}.txt").write_bytes(("Größe und Güte\n" * 20).encode("utf-16"))
    ran = files("count", corpus, "-o", "x")
    assert "--encoding" not in ran.err
    command, rest = ran.err.split("fix:   ")[1].split(" # and name ")
    subprocess.run(["sh", "-c", command], check=True)
    exclude = shlex.split(rest.split("in a folder or glob, ")[1].removesuffix(" instead\n"))
    again = files("count", corpus, "-o", "x", *exclude, "--json").json["result"]
    assert again["documents"] == 7
    assert again["invalid_bytes"] == 0
