"""Archives, compressed data and text in several encodings: the command that an error or note prints makes text."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shlex
import shutil
import subprocess
import tarfile
import zipfile
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import zstandard

STORY = "The evening river went through the old town, and the children sang.\n"
FINNISH = "Kissa istui matolla, ja tyttö äänsi: hyvää yötä.\n"


def refused(slmtok, line: str) -> str:
    """The fix of a command that is refused and leaves nothing."""
    before = {*Path().rglob("*")}
    ran = slmtok(*shlex.split(line))
    assert ran.code in (1, 2), ran
    assert {*Path().rglob("*")} == before
    return next(each.removeprefix("  fix:   ") for each in ran.err.splitlines() if each.startswith("  fix:   "))


def run_fix(fix: str) -> str:
    """Runs the command before the first ` # and name`; gives the name behind it."""
    command, _, named = fix.partition(" # and name ")
    subprocess.run(command, shell=True, check=True)
    return shlex.split(named.partition(", ")[0])[0]


def notes_of(slmtok, *words: str) -> list[str]:
    """The notes of counting beside the one that all counts files get."""
    ran = slmtok("count", *words, "-o", "new.counts", "--force")
    assert ran.code == 0, ran.err
    return [line for line in ran.err.splitlines() if line.startswith("note: ") and "a counts file" not in line]


@pytest.mark.parametrize("name", ["books.zip", "my books.tar.gz", "books.tgz", "books.tar.bz2", "books", "data.txt"])
def test_an_archive_is_unpacked_by_the_command(slmtok, name: str) -> None:
    Path("a.txt").write_text(STORY)
    if "tgz" in name or "tar" in name:
        with tarfile.open(name, "w:bz2" if name.endswith("bz2") else "w:gz") as archive:
            archive.add("a.txt")
    else:
        with zipfile.ZipFile(name, "w") as zipped:
            zipped.write("a.txt")
    Path("books.txt").touch()
    folder = run_fix(refused(slmtok, f"count {shlex.quote(name)} -o x.counts"))
    assert [path.read_text() for path in Path(folder).iterdir()] == [STORY]
    assert not notes_of(slmtok, folder)


def test_a_tar_archive_in_zstd_is_unpacked(slmtok) -> None:
    """tarfile of Python reads no zstd before 3.14."""
    Path("a.txt").write_text(STORY)
    with tarfile.open("b.tar", "w") as archive:
        archive.add("a.txt")
    Path("b.tar.zst").write_bytes(zstandard.compress(Path("b.tar").read_bytes()))
    folder = run_fix(refused(slmtok, "count b.tar.zst -o x.counts"))
    assert (folder, Path(folder, "a.txt").read_text()) == ("b", STORY)


@pytest.mark.parametrize(
    ("name", "inner", "made"),
    [("b.txt.gz.gz", gzip.compress, "b.txt.gz"), ("c.txt.gz", zstandard.compress, "c.txt.zst")],
)
def test_what_is_compressed_twice_is_decompressed_once(slmtok, name: str, inner, made: str) -> None:
    """Another name alone gives the same error again."""
    Path(name).write_bytes(gzip.compress(inner(STORY.encode())))
    assert run_fix(refused(slmtok, f"count {name} -o x.counts")) == made
    assert not notes_of(slmtok, made)


def test_an_archive_that_is_compressed_is_decompressed_first(slmtok) -> None:
    with zipfile.ZipFile("a.zip", "w") as zipped:
        zipped.writestr("a.txt", STORY)
    Path("a.zip.gz").write_bytes(gzip.compress(Path("a.zip").read_bytes()))
    Path("a.zip").unlink()
    made = run_fix(refused(slmtok, "count a.zip.gz -o x.counts"))
    assert made == "a.zip"
    assert Path(run_fix(refused(slmtok, "count a.zip -o x.counts")), "a.txt").read_text() == STORY


@pytest.mark.parametrize("mark", [";", ",", "|"])
@pytest.mark.parametrize("key", ["", "--text-key 1", "--text-key text"])
def test_the_line_that_names_the_separator_is_no_header(slmtok, mark: str, key: str) -> None:
    rows = "".join(f"{number}{mark}story {number}\n" for number in range(60))
    Path("a.csv").write_text(f"sep={mark}\nid{mark}text\n{rows}")
    made = run_fix(refused(slmtok, f"count a.csv {key} -o x.counts") + ", ").partition(",")[0]
    assert made == "it"
    ran = slmtok("count", "a-comma.csv", "-o", "x.counts", "--json")
    assert ran.json["result"]["documents"] == 60


def test_compressed_data_of_other_kinds_are_decompressed(slmtok) -> None:
    Path("a.txt.bz2").write_bytes(bz2.compress(STORY.encode()))
    name = run_fix(refused(slmtok, "count a.txt.bz2 -o x.counts"))
    assert (name, Path(name).read_text()) == ("a.txt", STORY)
    Path("b.txt").write_bytes(Path("a.txt.bz2").read_bytes())
    name = run_fix(refused(slmtok, "count b.txt -o x.counts"))
    assert Path(name).read_text() == STORY
    Path("c.txt.br").write_bytes(bytes(range(64)))
    assert refused(slmtok, "count c.txt.br -o x.counts").startswith("brotli -dc c.txt.br > c.txt # and name c.txt")
    Path("d.txt.lz4").write_bytes(b"\x04\x22\x4d\x18\0binary")
    assert refused(slmtok, "count d.txt.lz4 -o x.counts").startswith("lz4 -dc d.txt.lz4 > d.txt # and name d.txt")


def test_compressed_files_beside_text_are_replaced(slmtok) -> None:
    Path("d").mkdir()
    Path("d/c.txt").write_text(STORY)
    for name in ("a", "b"):
        Path(f"d/{name}.txt.bz2").write_bytes(bz2.compress(f"{name}: {STORY}".encode()))
    fix = refused(slmtok, "count d -o x.counts")
    assert fix.partition(" # and name ")[2] == (
        "d/a.txt d/b.txt in their places; in a folder or glob, --exclude '*.bz2' instead, "
        "or --format text to read its bytes as they are"
    )
    run_fix(fix)
    for corpus in (["d", "--exclude", "*.bz2"], ["d/a.txt", "d/b.txt", "d/c.txt"]):
        ran = slmtok("count", *corpus, "-o", "x.counts", "--force", "--json")
        assert ran.json["result"]["documents"] == 3


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lambda data: data])
def test_an_archive_on_stdin_is_known_in_compressed_data(slmtok, compress) -> None:
    Path("a.txt").write_text(STORY)
    with tarfile.open("a.tar", "w") as archive:
        archive.add("a.txt")
    ran = slmtok("count", "-", "-o", "x.counts", stdin=compress(Path("a.tar").read_bytes()))
    assert "stdin is a tar archive, not text" in ran.err
    assert "fix:   unpack it and name its files" in ran.err


@pytest.mark.parametrize(("name", "renamed"), [("a.jsonl", "a.jsonl.gz"), ("a.txt.zst", "a.txt.gz"), ("b", "b.xz")])
def test_compressed_data_get_their_suffix(slmtok, name: str, renamed: str) -> None:
    data = (lzma if renamed.endswith("xz") else gzip).compress(b'{"text": "a b c"}\n')
    Path(name).write_bytes(data)
    fix = refused(slmtok, f"count {name} -o x.counts")
    assert run_fix(fix) == renamed and not Path(name).exists()
    assert slmtok("count", renamed, "-o", "x.counts").code == 0


def test_one_command_leaves_out_all_that_is_no_text(slmtok) -> None:
    Path("mess").mkdir()
    Path("mess/a.py").write_text(STORY)
    Path("mess/b.png").write_bytes(b"\x89PNG\r\n")
    Path("mess/c.pyc").write_bytes(b"\xa7\r\r\n\0\0\0\0")
    with zipfile.ZipFile("mess/d.zip", "w") as archive:
        archive.write("mess/a.py")
    for names in ("bcd", "d", "e", "cde"):
        shutil.rmtree("part", ignore_errors=True)
        shutil.copytree("mess", "part")
        Path("part/e.ipynb").write_text('{"cells": []}\n')
        for path in Path("part").iterdir():
            if path.stem not in ("a", *names):
                path.unlink()
        fix = refused(slmtok, "count part -o x.counts")
        assert fix.count("--exclude") == len(names), fix
        words = shlex.split(fix[fix.index("--exclude") :])
        globs = [word.strip(",") for flag, word in pairwise(words) if flag == "--exclude"]
        assert not notes_of(slmtok, "part", *(word for glob in globs for word in ("--exclude", glob)))


def test_bytes_that_are_not_utf_8_are_converted_or_removed(slmtok) -> None:
    text = (FINNISH * 9).encode()
    Path("it's.txt").write_bytes(text + (FINNISH * 9).encode("latin-1"))
    Path("b.txt").write_bytes(text[:70] + b"\xff" + text[70:])
    for name, left in (("it's.txt", text * 2), ("b.txt", text)):
        note = next(each for each in notes_of(slmtok, name) if "has UTF-8 as well" in each)
        fix = note.rpartition("not, ")[2].partition(": ")[2]
        made = run_fix(fix)
        assert made == f"{Path(name).stem}-clean.txt" and Path(made).read_bytes() == left
        assert not notes_of(slmtok, made)


def test_zero_bytes_are_removed_from_text(slmtok) -> None:
    Path("a.txt").write_bytes((STORY * 20).encode() + b"\0" * 64)
    (note,) = notes_of(slmtok, "a.txt")
    command = note.rpartition("text: ")[2].partition(" # and name it")[0]
    subprocess.run(command, shell=True, check=True)
    assert Path("a-clean.txt").read_text() == STORY * 20


@pytest.mark.parametrize("name", ["utf8-bom", "UTF-8-BOM", "utf-8 with bom"])
def test_editors_names_of_utf_8_with_a_mark(slmtok, name: str) -> None:
    Path("a.txt").write_text(STORY, encoding="utf-8-sig")
    assert refused(slmtok, f"count a.txt -o x.counts --encoding '{name}'") == "--encoding utf-8-sig"
    assert not notes_of(slmtok, "a.txt", "--encoding", "utf-8-sig")


def test_text_in_the_place_of_document_digests(slmtok) -> None:
    Path("a.txt").write_text(STORY * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    Path("b.txt").write_text(STORY)
    line = "audit tok.json --on a.txt --leak {} -o audit.json"
    command, _, digests = refused(slmtok, line.format("b.txt")).partition(" # and name ")
    assert slmtok(*shlex.split(command)[1:]).code == 0
    assert slmtok(*shlex.split(line.format(digests))).code == 0
    named = refused(slmtok, line.format("b.counts").replace("audit.json", "new.json"))
    assert named == "name the digests beside it: b.counts.digests"


def test_stories_that_the_disk_has_no_room_for_are_refused(slmtok) -> None:
    fix = refused(slmtok, "sample-corpus --bytes 900000TB -o s.txt")
    assert fix.startswith("--bytes ") and fix.endswith(", or -o FILE on another disk")


@pytest.mark.parametrize(("free", "size"), [(2_600_000, "1MB"), (274_000, "137kB"), (12_000, "6kB"), (9_000, None)])
def test_stories_of_the_fix_fit_on_an_almost_full_disk(slmtok, monkeypatch, free, size) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=free))
    fix, _, other = refused(slmtok, "sample-corpus --bytes 3MB -o s.txt").rpartition("-o ")
    assert other == "FILE on another disk" and fix == (f"--bytes {size}, or " if size else "")
    if size is not None:
        assert slmtok("sample-corpus", "--bytes", size, "-o", "s.txt").code == 0
        assert 0 < Path("s.txt").stat().st_size < free


def test_a_share_is_no_number_of_documents(slmtok) -> None:
    Path("a.txt").write_text(STORY * 20)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json").code == 0
    fix = refused(slmtok, "pack a.txt -t tok.json -o data --subset 10%")
    assert fix == "--subset N, a number of documents, or --sample 10% for a share of the corpus"


def test_json_lines_that_come_compressed_through_stdin(slmtok) -> None:
    """The command that decompresses them reads them as records, not as text."""
    data = b'{"text": "one"}\n{"text": "two"}\n'
    packed = [(gzip.compress(data), "gzip"), (lzma.compress(data), "xz"), (bz2.compress(data), "bzip2")]
    for stdin, program in packed:
        ran = slmtok("count", "-", "-o", "x.counts", stdin=stdin)
        assert ran.code == 2 and f": {program} -dc | slmtok count - -o x.counts --format jsonl\n" in ran.err
    for stdin in (gzip.compress(STORY.encode()), gzip.compress(data)[:12]):
        ran = slmtok("count", "-", "-o", "x.counts", stdin=stdin)
        assert ran.code == 2 and ": gzip -dc | slmtok count - -o x.counts\n" in ran.err


def test_a_page_that_is_too_small_is_made_text(slmtok) -> None:
    """The downloaded page of an error, where a text is meant, has few words."""
    Path("dl.txt").write_text("<!DOCTYPE html><html><body><h1>404 Not Found</h1></body></html>\n")
    ran = slmtok("train", "dl.txt", "--vocab", "900", "-o", "x.json")
    assert ran.code == 1 and "  limit: dl.txt is HTML, and its tags were read as text\n" in ran.err
    fix = ran.err.split("fix:   ")[1]
    assert fix.startswith("python -c ") and " > dl-text.txt # and name it; or --vocab " in fix
    Path("a.txt").write_text("one two")
    assert "HTML" not in slmtok("train", "dl.txt", "a.txt", "--vocab", "900", "-o", "x.json").err.split("limit:")[1]
