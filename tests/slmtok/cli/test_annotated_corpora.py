"""Subtitles, tables and annotated sentences that a command reads as prose, and what stands in the place of a file."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
from printed_fixes import fix_in, refused

SENTENCE = "the evening river went through the old town, and the children sang"
WORDS = "".join(f"{at}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\n" for at, word in enumerate(SENTENCE.split(), 1))
CSV = "ID,Title,Text\n" + "".join(f'{at},Story {at},"{SENTENCE}"\n' for at in range(40))
TSV = "".join(f"{at}\ten\t{SENTENCE}\n" for at in range(40))
SRT = "".join(f"{at}\n00:00:{at:02},000 --> 00:00:{at:02},900\n{SENTENCE}\n\n" for at in range(1, 40))
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d7a2146' * 8}\nsize 123456789\n"
PAGE = "<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n"


def notes_of(slmtok, *words: str, stdin: io.BytesIO | None = None) -> str:
    ran = slmtok("count", *words, "-o", "new.counts", "--force", **({} if stdin is None else {"stdin": stdin}))
    assert ran.code == 0, ran.err
    return ran.err


def error_and_fix(slmtok, line: str) -> tuple[str, str]:
    """The error and the fix of a command that is refused and leaves nothing."""
    err = refused(slmtok, line).err
    return err.splitlines()[0], fix_in(err)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.srt", SRT, "is subtitles (SRT), and its time codes were read as text"),
        ("b.srt", "\ufeff" + SRT.replace("\n", "\r\n"), "is subtitles (SRT), and its time codes were read as text"),
        ("a.vtt", f"WEBVTT\n\n{SRT}", "is subtitles (WebVTT), and its time codes were read as text"),
        ("a.conllu", f"{WORDS}\n{WORDS}\n", "is CoNLL-U, and its columns were read as text"),
    ],
)
def test_subtitles_and_annotated_sentences_are_named(slmtok, name: str, text: str, said: str) -> None:
    Path(name).write_bytes(text.encode())
    note = next(each for each in notes_of(slmtok, name).splitlines() if said in each)
    assert note.startswith(f"note: {name} {said}; ")
    if "subtitles" not in said:
        assert note.endswith("; name a file with its text alone, with --force")
        return
    command, _, named = note.partition("; ")[2].rpartition(" # and ")
    assert named == "name it, with --force"
    subprocess.run(command, shell=True, check=True)
    assert Path(f"{name[0]}-text.txt").read_text().lstrip("\n").split("\n\n") == [*[SENTENCE] * 39, ""]


def test_a_line_of_subtitles_that_is_a_number_stays(slmtok) -> None:
    Path("a.srt").write_bytes(SRT.replace(SENTENCE, "42\n7 and more").replace("\n", "\r\n").encode())
    note = next(each for each in notes_of(slmtok, "a.srt").splitlines() if "is subtitles" in each)
    subprocess.run(note.partition("; ")[2].rpartition(" # and ")[0], shell=True, check=True)
    assert Path("a-text.txt").read_text() == "42\n7 and more\n\n" * 39


def test_the_sentences_of_conll_u_are_taken_from_its_comments(slmtok) -> None:
    Path("a.conllu").write_text(f"# sent_id = 1\n# text = {SENTENCE}\n{WORDS}\n" * 3)
    note = next(each for each in notes_of(slmtok, "a.conllu").splitlines() if "is CoNLL-U" in each)
    command, _, named = note.partition("; ")[2].rpartition(" # and ")
    assert named == "name it, with --force"
    subprocess.run(command, shell=True, check=True)
    assert Path("a-text.lines").read_text() == f"{SENTENCE}\n" * 3


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.txt", CSV, "--format csv --text-key Text"),
        ("b.txt", CSV.replace("Text", "Words"), "--format csv --text-key Words"),
        ("c.txt", TSV, "--format tsv --text-key 3"),
        ("d.txt", "id\tlang\ttext\n" + TSV, "--format tsv --text-key text"),
    ],
)
def test_a_table_without_its_name_is_read_with_its_format(slmtok, name: str, text: str, options: str) -> None:
    Path(name).write_text(text)
    assert f"run it again with {options} --force" in notes_of(slmtok, name)
    ran = slmtok("count", name, *options.split(), "-o", "new.counts", "--force", "--json")
    assert ran.json["result"]["documents"] == 40
    assert ran.json["result"]["bytes"] == 40 * len(SENTENCE)


@pytest.mark.parametrize(
    "text",
    [
        f"{SENTENCE}\n" * 40,
        "Roses are red, violets are blue\nSugar is sweet, and so are you\n" * 20,
        "Contents\n\n1. Beginning\t3\n2. Middle\t17\n" * 20,
        "1\n2\n3\n4\n",
    ],
)
def test_prose_with_commas_is_no_table(slmtok, text: str) -> None:
    Path("prose.txt").write_text(text)
    assert "were read as text" not in notes_of(slmtok, "prose.txt")


def test_a_pointer_of_git_lfs_is_named_before_its_format(slmtok) -> None:
    for name in ("a.parquet", "a.jsonl", "a.jsonl.zst", "a.txt", "a.csv", "sub/a.parquet"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(POINTER)
        fact, fix = error_and_fix(slmtok, f"count {name} -o new.counts")
        assert fact.startswith(f"error: '{name}' is a Git LFS pointer, ")
        assert fix == ("git -C sub lfs pull" if "/" in name else "git lfs pull")
    for name in ("a.txt", "a.parquet"):
        assert error_and_fix(slmtok, f"train {name} --vocab 300 -o tok.json")[1] == "git lfs pull"
    Path("tok.json").write_text(POINTER)
    assert error_and_fix(slmtok, "decode ids.txt -t tok.json")[1] == "git lfs pull"


def test_a_page_in_the_place_of_records_is_named(slmtok) -> None:
    for name in ("a.parquet", "a.jsonl", "a.json", "a.csv", "a.txt.gz", "a.jsonl.zst"):
        Path(name).write_text(PAGE)
        fact, fix = error_and_fix(slmtok, f"count {name} -o new.counts")
        assert fact.startswith(f"error: '{name}' is HTML, ")
        assert fix == "fetch the file again: it may be the page of an error"
    Path("a.html.gz").write_text(PAGE)
    assert error_and_fix(slmtok, "count a.html.gz -o new.counts")[1] == "mv a.html.gz a.html"
    Path("rows.tsv").write_text(f"<html>{SENTENCE}</html>\t1\n" * 3)
    assert slmtok("count", "rows.tsv", "--text-key", "1", "-o", "new.counts").code == 0


def test_a_file_that_is_no_parquet_is_named_for_what_it_is(slmtok) -> None:
    Path("a.parquet").write_text(SENTENCE)
    assert "--format" not in error_and_fix(slmtok, "count a.parquet -o new.counts")[1]
    Path("a.txt").write_text(SENTENCE)
    assert (
        error_and_fix(slmtok, "count a.txt --format parquet -o new.counts")[1]
        == "leave --format out: the name says text"
    )


def test_data_of_lz4_are_no_text(slmtok) -> None:
    Path("a.txt.lz4").write_bytes(b"\x04\x22\x4d\x18\0binary")
    assert error_and_fix(slmtok, "count a.txt.lz4 -o new.counts")[0] == "error: 'a.txt.lz4' is lz4 data, not text"


@pytest.mark.parametrize("name", ["jsonl", "json", "csv", "tsv"])
def test_a_format_that_the_name_of_a_file_contradicts_is_left_out(slmtok, name: str) -> None:
    Path("a.txt").write_text(f"The {name}: {SENTENCE.replace(',', '')}\n" * 40)
    fix = error_and_fix(slmtok, f"count a.txt --format {name} -o new.counts")[1]
    assert fix == "leave --format out: the name says text"
    Path("rows.tsv").write_text(f'id\ttext\n1\t"{SENTENCE}\n' + TSV.replace("en\t", ""))
    fix = error_and_fix(slmtok, "count rows.tsv --format csv -o new.counts")[1]
    assert fix == "leave --format out: the name says tsv"
    ran = slmtok("count", "rows.tsv", "-o", "new.counts", "--json")
    assert ran.json["result"]["documents"] == 41


@pytest.mark.parametrize("key", ["text", "content", "2"])
def test_a_key_for_prose_with_commas_is_left_out(slmtok, key: str) -> None:
    """As csv, the second part of each line would be its text, without a word."""
    Path("a.txt").write_text("Once upon a time, a girl ran.\nOne day, the dog was happy.\n" * 30)
    for line in ("count a.txt -o x.counts", "encode a.txt -t tok.json"):
        ran = slmtok(*line.split(), "--text-key", key)
        assert ran.err.endswith("fix:   leave --text-key out\n"), ran
    Path("b.txt").write_text("id,Words\n" + "1,It rained\n2,It snowed\n")
    for name in ("Words", "2", "story"):
        assert slmtok("count", "b.txt", "--text-key", name, "-o", "x").err.endswith("fix:   --format csv\n"), name
