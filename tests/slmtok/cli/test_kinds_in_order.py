"""Text of another kind than prose in many folders, several encodings or under a wrong format: one command for all."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from pathlib import Path
from zipfile import ZipFile

import pytest

import slmtok as package

SENTENCE = "the evening river went through the old town, and the children sang für die schöne Stadt"
PAGE = f"<!DOCTYPE html><html><body><p>{SENTENCE}</p></body></html>"


def command_in(text: str, start: str) -> tuple[str, str]:
    """The command behind `start` in what a program said, and what it tells to name."""
    line = text.partition(start)[2].splitlines()[0]
    command, _, named = line.removesuffix(", with --force").partition(" # and name ")
    return command, named


def run(command: str) -> None:
    subprocess.run(["bash", "-c", command], check=True)


def pages(folders: list[str]) -> None:
    for folder in folders:
        Path(folder).mkdir(parents=True)
        for name in ("a", "b c"):
            Path(folder, f"{name}.html").write_text(PAGE)


NESTED = [f"my site/{each}" for each in ("one", "one/two", "three", "four [x]", "five", "six")]


def test_pages_in_many_folders_are_written_by_one_loop(slmtok) -> None:
    pages(NESTED)
    command, named = command_in(slmtok("count", "my site", "-o", "x").err, "tags were read as text; ")
    run(command)
    assert named == "'my site/**/*-text.txt'"
    made = sorted(Path("my site").glob("**/*-text.txt"))
    assert len(made) == 2 * len(NESTED)
    assert {path.read_text().strip() for path in made} == {SENTENCE}
    ran = slmtok("count", named.strip("'"), "-o", "y", "--json")
    assert (ran.json["result"]["documents"], "HTML" in ran.err) == (len(made), False)


def test_a_loop_over_folders_takes_a_free_ending(slmtok) -> None:
    pages(NESTED)
    Path("my site/six/old-text.txt").write_text(SENTENCE)
    command, named = command_in(slmtok("count", "my site/**/*.html", "-o", "x").err, "tags were read as text; ")
    run(command)
    assert named == "'my site/**/*-text-2.txt'"
    assert len(list(Path("my site").glob("**/*-text-2.txt"))) == 2 * len(NESTED)


def test_pages_beside_others_are_written_one_by_one(slmtok) -> None:
    """A loop over the folder would take pages that the corpus leaves out."""
    pages(NESTED)
    ran = slmtok("count", "my site", "--exclude", "six/a.html", "-o", "x")
    assert "; name files with their text alone; of the first: python -c" in ran.err


SRT = f"1\r\n00:00:01,000 --> 00:00:02,000\r\n{SENTENCE}\r\n\r\n" * 9


def test_subtitles_in_two_encodings_are_made_to_text_by_one_command(slmtok) -> None:
    Path("subs").mkdir()
    Path("subs/a.srt").write_bytes(SRT.encode("cp1252"))
    Path("subs/b.srt").write_bytes(SRT.encode("utf-8-sig"))
    ran = slmtok("count", "subs", "-o", "x")
    assert ran.err.count("first do what the note on subtitles (SRT) says\n") == 3
    kept = "18 invalid bytes in 1 of 2 documents were kept as bytes (first: subs/a.srt, byte 102); first do what"
    assert kept in ran.err
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        package.count("subs")
    assert str(said[-1].message).endswith("; first do what the note on subtitles (SRT) says")
    assert slmtok("train", "subs", "--vocab", "300", "-o", "tok.json").code == 0
    of_pack = slmtok("pack", "subs", "-t", "tok.json", "-o", "data").err
    assert "subs/a.srt is not UTF-8 (first: byte 102), and such bytes are kept; first do what the note on " in of_pack
    command, named = command_in(ran.err, "time codes were read as text; ")
    run(command)
    assert named == "subs/*-text.txt"
    assert Path("subs/a-text.txt").read_text() == Path("subs/b-text.txt").read_text()
    ran = slmtok("count", named, "-o", "y")
    assert "kept" not in ran.err and "read as text" not in ran.err


def test_json_in_javascript_is_made_to_records(slmtok) -> None:
    rows = [{"like": {"id": str(n), "fullText": f"{SENTENCE} {n}"}} for n in range(9)]
    Path("like.js").write_text(f"window.YTD.like.part0 = {json.dumps(rows, indent=2)};\n")
    command, named = command_in(slmtok("count", "like.js", "-o", "x").err, "its keys were read as text; ")
    run(command)
    assert (command.endswith(" > like-text.json"), named) == (True, "it")
    command, _ = command_in(slmtok("count", "like-text.json", "-o", "y").err, "  fix:   ")
    run(command)
    (made,) = Path().glob("*.jsonl")
    assert [json.loads(line)["text"] for line in made.read_text().splitlines()] == [f"{SENTENCE} {n}" for n in range(9)]


def test_tweets_are_made_to_records_by_one_command(slmtok) -> None:
    texts = [f"{SENTENCE} \u00e9 {n}" for n in range(9)]
    rows = [{"tweet": {"id": "1", "full_text": text}} for text in texts]
    Path("tweets.js").write_text(f"window.YTD.tweets.part0 = {json.dumps(rows, indent=2, ensure_ascii=False)}")
    command, named = command_in(slmtok("count", "tweets.js", "-o", "x").err, "its keys were read as text; ")
    run(command)
    assert named == "it"
    assert [json.loads(line)["text"] for line in Path("tweets-text.jsonl").read_text().splitlines()] == texts
    assert slmtok("count", "tweets-text.jsonl", "-o", "y", "--json").json["result"]["documents"] == len(texts)


@pytest.mark.parametrize("value", ["xml", "rss", "html"])
def test_a_format_that_is_markup_gets_the_command_for_the_text(slmtok, value) -> None:
    Path("feed.xml").write_text(f'<?xml version="1.0"?>\n<rss><item>{SENTENCE}</item></rss>')
    ran = slmtok("count", "feed.xml", "--format", value, "-o", "x")
    command, named = command_in(ran.err, "  fix:   ")
    run(command)
    assert (ran.code, named) == (2, "it without --format")
    assert Path("feed-text.txt").read_text().strip() == SENTENCE
    assert not Path("x").exists()


def test_documents_of_prose_get_a_command(slmtok) -> None:
    Path("a.rtf").write_text(r"{\rtf1\ansi Dear Sir}")
    with ZipFile("b.docx", "w") as archive:
        archive.writestr("word/document.xml", "<w:p/>")
    saved = "; or save it as plain text in UTF-8 from its program"
    for name, of in (("a.rtf", "rtf"), ("b.docx", "docx")):
        stem = name.partition(".")[0]
        command = f"pandoc -f {of} -t plain --wrap=none < {name} > {stem}-text.txt"
        err = slmtok("count", name, "-o", "x").err
        assert f"  fix:   {command} # and name it{saved}" in err
        if shutil.which("pandoc") and of == "rtf":
            run(command)
            assert Path(f"{stem}-text.txt").read_text() == "Dear Sir\n"
