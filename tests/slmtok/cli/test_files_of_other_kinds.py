"""One file among others that is in another encoding, without text, or not there; and JSON with one comma too many."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from printed_fixes import fix_of, fix_of_line

TEXT = "the evening river went through the old town, and the children sang\n" * 20
FINNISH = "hyvää päivää, mitä kuuluu, minä olen täällä\n" * 30


def test_a_comma_at_the_end_of_an_array_is_removed(slmtok) -> None:
    records = ",\n".join(json.dumps({"text": f"{at}, café: [1,]"}, ensure_ascii=False) for at in range(3))
    Path("a.json").write_text(f"[\n{records},\n]\n", encoding="utf-8-sig")
    ran = slmtok("count", "a.json", "-o", "new.counts")
    assert "a comma stands before the closing ']'" in ran.err and "a.json, line 4" in ran.err
    command, _, _ = fix_of_line(slmtok, "count a.json -o new.counts").partition(" # and name it")
    subprocess.run(command, shell=True, check=True)
    assert slmtok("count", "a-clean.json", "-o", "new.counts", "--json").json["result"]["documents"] == 3
    assert [each["text"] for each in json.loads(Path("a-clean.json").read_text(encoding="utf-8-sig"))] == [
        f"{at}, café: [1,]" for at in range(3)
    ]


def test_files_without_the_field_are_left_out(slmtok) -> None:
    Path("slack").mkdir()
    Path("slack/users.json").write_text(json.dumps([{"id": "U1", "name": "anna"}] * 2))
    Path("slack/channels.json").write_text(json.dumps([{"id": "C1", "name": "general"}] * 2))
    Path("slack/day.json").write_text(json.dumps([{"user": "U1", "text": TEXT}] * 2))
    fix = fix_of_line(slmtok, "count slack -o new.counts").partition(" leaves")[0]
    assert fix == "--exclude channels.json --exclude users.json"
    assert slmtok("count", "slack", *shlex.split(fix), "-o", "new.counts", "--json").json["result"]["documents"] == 2


def test_a_table_of_numbers_holds_no_text(slmtok) -> None:
    Path("repo").mkdir()
    Path("repo/a.md").write_text(TEXT)
    Path("repo/data.csv").write_text("a,b\n" + "".join(f"{at},{at / 7}\n" for at in range(9)))
    fix = fix_of_line(slmtok, "count repo -o new.counts")
    assert fix == "name another file, or leave it out with --exclude data.csv"
    assert slmtok("count", "repo", "--exclude", "data.csv", "-o", "new.counts").code == 0


def test_a_file_that_is_named_already_is_not_proposed(slmtok) -> None:
    Path("a.txt").write_text(TEXT)
    assert "a.txt" not in fix_of_line(slmtok, "count a.txt b.txt -o new.counts")
    assert fix_of_line(slmtok, "count b.txt -o new.counts") == "check the name: there is 'a.txt'"


@pytest.mark.parametrize(("given", "meant"), [("ansi", "cp1252"), ("ANSI", "cp1252")])
def test_the_names_of_windows_for_encodings(slmtok, given: str, meant: str) -> None:
    Path("a.txt").write_text(TEXT, encoding=meant)
    assert fix_of_line(slmtok, f"count a.txt --encoding {given} -o new.counts") == f"--encoding {meant}"
    assert slmtok("count", "a.txt", "--encoding", meant, "-o", "new.counts").code == 0


def test_one_file_in_another_encoding_is_converted(slmtok) -> None:
    Path("fi").mkdir()
    Path("fi/a.txt").write_text(FINNISH)
    Path("fi/old.txt").write_text(FINNISH, encoding="latin-1")
    note = next(each for each in slmtok("count", "fi", "-o", "new.counts").err.splitlines() if "UTF-8" in each)
    command, _, rest = note.partition("python -c ")[2].partition(" # and name ")
    assert rest == "fi/old-utf-8.txt in its place; in a folder --exclude old.txt, with --force"
    subprocess.run(f"python -c {command}", shell=True, check=True)
    assert Path("fi/old-utf-8.txt").read_text() == FINNISH


def test_a_sentencepiece_model_is_no_corpus(slmtok) -> None:
    Path("a.txt").write_text(TEXT)
    Path("m.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02" + bytes(40))
    ran = slmtok("train", "m.model", "--vocab", "290", "-o", "new.json")
    assert ran.code == 2 and "error: 'm.model' is a SentencePiece model, not text" in ran.err
    assert fix_of(ran) == "name the text that it was trained on"
    assert fix_of(slmtok("train", "a.txt", "m.model", "--vocab", "290", "-o", "new.json")) == "--exclude '*.model'"


def test_an_archive_under_a_name_of_compressed_data_is_unpacked(slmtok) -> None:
    """Another name led to the next error: a zip archive that is named .txt is no text."""
    import pyarrow
    import pyarrow.parquet

    text = "the cat sat on the mat " * 40
    with zipfile.ZipFile("zip.txt.gz", "w") as archive:
        archive.writestr("a.txt", text)
    Path("a.txt").write_text(text)
    with tarfile.open("tar.txt.zst", "w:gz") as tar:
        tar.add("a.txt")
    pyarrow.parquet.write_table(pyarrow.table({"text": [text]}), "q.gz")
    for name, what, fix in (
        ("zip.txt.gz", "a zip archive", "python -m zipfile -e zip.txt.gz zip.txt # and name zip.txt"),
        ("tar.txt.zst", "gzip data", "python -m tarfile -e tar.txt.zst tar.txt # and name tar.txt"),
        ("q.gz", "parquet", "mv q.gz q.parquet"),
    ):
        ran = slmtok("count", name, "-o", "x.counts")
        assert f"{name!r} is {what}, and its name ends in " in ran.err and fix_of(ran) == fix
        subprocess.run(
            [sys.executable, *shlex.split(fix, comments=True)[1:]] if "-m" in fix else shlex.split(fix), check=True
        )
        assert slmtok("count", fix.split()[-1], "-o", f"{name}.counts").code == 0
    Path("png.txt.gz").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(600))
    assert fix_of(slmtok("count", "png.txt.gz", "-o", "x.counts")) == "name the text"
