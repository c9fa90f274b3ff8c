"""Files that are not UTF-8 text: refused with the option that reads them, or read by it."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import lzma
import pickle
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
import zstandard

import slmtok
from slmtok._engine import Documents
from slmtok.corpus import Corpus, find, read
from slmtok.corpus.contents import check_texts
from slmtok.errors import CorpusTooSmall, MalformedRecord, OptionError, OutputExists, Unreadable
from slmtok.options import ReadOptions
from slmtok.shards import pack
from slmtok.shards.journal import State

TEXT = "The cat sat on the mat. Äpfel und Öl.\n" * 40
RECORDS = [{"id": 1, "text": "One, two\nthree", "title": " A Fox "}, {"id": 2, "text": 'a "b"', "title": "ÉTÉ"}]


def texts(*paths: Path, **options: object) -> list[bytes]:
    read_options = ReadOptions(**options)  # type: ignore[arg-type]
    return [document.text for document in read(find(list(map(str, paths)), read_options), read_options)]


def _tar() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    return target.getvalue()


def _zip() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("a.txt", TEXT)
    return target.getvalue()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (Path(sys.executable).resolve().read_bytes()[:4096], "an ELF program"),
        (pickle.dumps(RECORDS), "a pickle"),
        (pickle.dumps(RECORDS, 0), "a pickle"),
        (pickle.dumps("some text", 0), "a pickle"),
        (b"{\\rtf1\\ansi some text}", "an RTF document"),
        (_zip(), "a zip archive"),
        (_tar(), "a tar archive"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"some\0zero bytes", "binary data"),
    ],
)
def test_what_is_not_text_is_refused(tmp_path: Path, data: bytes, name: str) -> None:
    path = tmp_path / "found"
    path.write_bytes(data)
    with pytest.raises(OptionError, match=name) as refused:
        slmtok.count(path)
    assert "format='text' to read its bytes as they are" in str(refused.value)
    assert texts(path, format="text") == [data]
    (tmp_path / "a.txt").write_text(TEXT)
    with pytest.raises(OptionError, match="exclude='found'"):
        slmtok.count(tmp_path)
    assert texts(tmp_path, exclude="found") == [TEXT.encode()]
    packed = tmp_path / "found.gz"
    packed.write_bytes(gzip.compress(data))
    with pytest.raises(OptionError, match=name):
        slmtok.count(packed)


@pytest.mark.parametrize(
    "name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.txz", "a.tar.zst", "zip", "tar", "tar.gz", "report.docx"]
)
def test_archives_are_to_be_unpacked(tmp_path: Path, name: str) -> None:
    data = _tar() if "tar" in name or "t" in Path(name).suffix else _zip()
    compress = {".gz": gzip.compress, ".tgz": gzip.compress, ".zst": zstandard.compress}
    (tmp_path / name).write_bytes(compress.get(Path(name).suffix, bytes)(data))
    with pytest.raises(OptionError) as refused:
        slmtok.count(tmp_path / name)
    unpack = f"python -m {'tarfile' if 'tar' in name or 't' in Path(name).suffix else 'zipfile'} -e {tmp_path / name} "
    if name.endswith(".zst"):
        unpack = f"mkdir {tmp_path / 'a'} && zstd -dc {tmp_path / name} | tar -x -C {tmp_path / 'a'} # and name "
    assert str(refused.value.fix).startswith("convert it" if name == "report.docx" else unpack)
    assert "gzip data" not in str(refused.value)


def test_text_that_begins_like_a_pickle(tmp_path: Path) -> None:
    for number, text in enumerate(
        ("(I think\n", "(lp\n", "VERSION\n1.0\n", "cat\ndog\n", "<html>a</html>\n", "{\\it a}")
    ):
        (tmp_path / f"{number}.txt").write_text(text)
    assert len(texts(tmp_path)) == 6


def test_nothing_is_made_of_what_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x7fELF\0")
    with pytest.raises(OptionError, match="ELF"):
        pack(tmp_path / "a", slmtok.train(slmtok.Texts([TEXT]), vocab_size=280), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_zero_bytes_between_documents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\0b\0")
    assert texts(tmp_path / "a.txt", separator="\0") == [b"a", b"b"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1", "cp1252"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path: Path, encoding: str, packed: bool) -> None:
    data = TEXT.encode(encoding)
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    path.write_bytes(gzip.compress(data) if packed else data)
    plain = slmtok.count(slmtok.Texts([TEXT]))
    counts = slmtok.count(path, encoding=encoding)
    assert counts.items() == plain.items()
    assert counts.stats.corpus_digest == plain.stats.corpus_digest
    assert texts(path, encoding=encoding, document="line") == TEXT.encode().splitlines()
    if encoding.startswith(("utf-16", "utf-32")) and encoding != "utf-32":
        with pytest.raises(OptionError, match="encoding='utf-16") as refused:
            slmtok.count(path)
        assert str(refused.value.fields["content"]).startswith("text in UTF-16")


@pytest.mark.parametrize("size", [100, 20_000])
def test_encodings_are_packed(tmp_path: Path, size: int) -> None:
    (tmp_path / "a.txt").write_text(TEXT * size, encoding="utf-16")
    (tmp_path / "b.txt").write_text(TEXT * size)
    tokenizer = slmtok.train(slmtok.Texts([TEXT]), vocab_size=280)
    digests = [
        pack(tmp_path / name, tokenizer, tmp_path / name[0], document="line", encoding=encoding, val="none").manifest[
            "shards"
        ]
        for name, encoding in (("a.txt", "utf-16"), ("b.txt", "utf-8"))
    ]
    assert digests[0] == digests[1]
    assert json.loads((tmp_path / "a/manifest.json").read_text())["plan"]["options"]["read"]["encoding"] == "utf-16"


def test_records_in_an_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-16")
    assert texts(tmp_path / "a.jsonl", encoding="utf-16") == [record["text"].encode() for record in RECORDS]  # type: ignore[attr-defined]
    (tmp_path / "a.tsv").write_text("text\tn\nä\t1\n", encoding="latin-1")
    assert texts(tmp_path / "a.tsv", encoding="latin-1") == ["ä".encode()]


def test_text_in_another_encoding_than_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc\xff" * 10)
    for encoding in ("utf-8-sig", "utf-16", "ascii"):
        with pytest.raises(Unreadable, match=f"is not text in {encoding}"):
            texts(tmp_path / "a.txt", encoding=encoding)
    for unknown in ("klingon", "zip", "hex"):
        with pytest.raises(OptionError, match="is not an encoding of text"):
            ReadOptions(encoding=unknown)
    for unknown, meant in (
        ("utf_8_sg", "encoding='utf-8-sig'"),
        ("koi8r", "encoding='koi8-r'"),
        ("Windows1251", "encoding='cp1251'"),
        ("ISO8859-15@euro", "encoding='iso8859-15'"),
        ("ru_RU.KOI8R", "encoding='koi8-r'"),
        ("unicode", "name the encoding of the text, or leave it out for UTF-8"),
        ("auto", "name the encoding of the text, or leave it out for UTF-8"),
        ("koi8", "name the encoding of the text, or leave it out for UTF-8"),
    ):
        with pytest.raises(OptionError) as caught:
            ReadOptions(encoding=unknown)
        assert str(caught.value).endswith(f"fix:   {meant}")
    assert ReadOptions(encoding="UTF8").read_record() == ReadOptions().read_record()


def test_byte_order_marks_of_records(tmp_path: Path) -> None:
    for suffix, content in (
        ("jsonl", '{"text": "a"}\n{"text": "b"}\n'),
        ("json", '[{"text": "a"}, {"text": "b"}]'),
        ("tsv", "text\na\nb\n"),
        ("csv", "text\r\na\r\nb\r\n"),
    ):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(codecs.BOM_UTF8 + content.encode())
        assert texts(path) == [b"a", b"b"]
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "a"}\n' + codecs.BOM_UTF8 + b'{"text": "b"}\n')
    with pytest.raises(MalformedRecord, match="BOM"):
        texts(tmp_path / "b.jsonl")


def test_json_arrays_and_objects(tmp_path: Path) -> None:
    path, wanted = tmp_path / "a.json", [record["text"].encode() for record in RECORDS]  # type: ignore[attr-defined]
    for content in (json.dumps(RECORDS), json.dumps(RECORDS, indent=2), "\n".join(map(json.dumps, RECORDS))):
        path.write_text(content)
        assert texts(path) == wanted
    path.write_text("[]")
    assert texts(path) == []
    path.write_text('[{"text": "a"}, {"title": 1}, {"text": "b"}]')
    with pytest.raises(MalformedRecord, match=r"no field 'text'.*\n.*a\.json, record 2"):
        texts(path)
    assert texts(path, skip_malformed=True) == [b"a", b"b"]


def test_json_strings_and_objects_around_an_array(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content in (["a", "b"], {"data": [{"text": "a"}, {"text": "b"}]}, {"data": ["a", "b"]},
                    {"version": 1, "rows": [{"text": "a", "id": 1}, {"text": "b"}], "tags": ["x"]}):  # fmt: skip
        path.write_text(json.dumps(content))
        assert texts(path) == texts(path, format="json") == [b"a", b"b"]
    path.write_text(json.dumps({"data": [{"body": "a"}]}))
    with pytest.raises(MalformedRecord, match=r"\(fields: body\)\n.*record 1\n.*text_key='body'"):
        texts(path)
    path.write_text(json.dumps(["a", {"text": "b"}, 3]))
    with pytest.raises(MalformedRecord, match=r"not a JSON object but a number\n.*record 3"):
        texts(path)
    path.write_text(json.dumps(["a"]))
    with pytest.raises(MalformedRecord, match="not a JSON object but text"):
        texts(path, text_key="body")


def test_one_json_object_is_text(tmp_path: Path) -> None:
    settings = json.dumps({"name": "x", "keywords": ["a", "b"], "tasks": [{"label": "c"}]})
    for content in ('{"name": "x", "text": "y"}\n', '{ // a comment\n "a": 1}', settings, '{"a": []}', '{"a": [1]}'):
        (tmp_path / "package.json").write_text(content)
        assert texts(tmp_path) == [content.encode()]
    (tmp_path / "package.json").write_text('{"text": "y"}')
    assert texts(tmp_path, format="json") == [b"y"]


MALFORMED = ['[{"text": "a"}', '[{"text": "a"},]', '[{"text": "a"}] x', "[", '{"text": "a"} {', "x"]


@pytest.mark.parametrize("bad", MALFORMED)
def test_malformed_json(tmp_path: Path, bad: str) -> None:
    (tmp_path / "a.json").write_text(bad)
    with pytest.raises(MalformedRecord, match="not JSON"):
        texts(tmp_path / "a.json", skip_malformed=True)
    assert texts(tmp_path / "a.json", format="text") == [bad.encode()]


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\r\n1,"One, ""two""\r\nthree"\r\n\r\n2,b\xff\r\n')
    assert texts(path) == [b'One, "two"\r\nthree', b"b\xff"]
    assert texts(path, text_template="{2}/{1}")[0] == b"text/id"
    with pytest.raises(MalformedRecord, match="no column 'body'"):
        texts(path, text_key="body")
    path.write_bytes(b'id,text\n1,a\n2\n3,"b"x\n4,c\n')
    with pytest.raises(MalformedRecord, match=r"row has 1 column, the first one 2\n.*line 3"):
        texts(path)
    assert texts(path, skip_malformed=True) == [b"a", b"c"]
    path.write_text("text\n" + "x" * 200_000 + "\n")
    assert texts(path) == [b"x" * 200_000]


def test_filters_of_templates(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    assert texts(path, text_template="{title|strip|lower}: {text|oneline} {id}") == [
        b"a fox: One, two three 1",
        'été: a "b" 2'.encode(),
    ]
    table = tmp_path / "a.tsv"
    table.write_bytes(b"a\t X\xff \n")
    assert texts(table, text_template="{2|strip|lower}") == [b"x\xff"]
    for wrong in ("{title|shout}", "{|strip}", "{title|}"):
        with pytest.raises(OptionError, match="is not a template"):
            ReadOptions(text_template=wrong)


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        ("{title|lowr}", "'{title|lower}'"),
        ("{title|shout|strip}", "'{title|strip}'"),
        ("title", "'{title}'"),
        ("{title", "'{title}'"),
        (r"{title}\n{txt|strip}", r"'{title}\n{text|strip}'"),
        ("{0}: {title}", "'{text}: {title}'"),
    ],
)
def test_the_fix_of_a_template_is_one(tmp_path: Path, wrong: str, fix: str) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"title": "a", "text": "b"}) + "\n")
    command = [sys.executable, "-m", "slmtok", "count", "a.jsonl", "-o", "a.counts", "--text-template", wrong]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode in (1, 2) and ran.stderr.endswith(f"fix:   --text-template {fix}\n"), ran.stderr
    if "NAME" not in fix:
        ran = subprocess.run([*command[:-1], fix.strip("'")], cwd=tmp_path, check=False, capture_output=True)
        assert ran.returncode == 0, ran.stderr


def test_a_file_stands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT)
    for twice in (["a.txt", "a.txt"], ["a.txt", "./a.txt"], [".", "a.txt"], ["a.txt", str(tmp_path / "a.txt")]):
        with pytest.raises(OptionError, match="twice in the corpus"):
            slmtok.count(twice)


def test_an_empty_corpus_is_an_error(tmp_path: Path) -> None:
    tokenizer = slmtok.train(slmtok.Texts([TEXT]), vocab_size=280)
    (tmp_path / "a.txt").touch()
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n')
    (tmp_path / "a.json").write_text("[]")
    for name in ("a.txt", "a.jsonl", "a.json"):
        with pytest.raises(CorpusTooSmall, match="the corpus is empty"):
            slmtok.train(tmp_path / name)
        for output_format in ("slm", "nanogpt"):
            with pytest.raises(CorpusTooSmall, match="the corpus is empty"):
                pack(tmp_path / name, tokenizer, tmp_path / "out", output_format=output_format)
            assert not (tmp_path / "out").exists()
    with pytest.raises(CorpusTooSmall, match="0 documents"):
        slmtok.train(slmtok.Texts([]), vocab_size=272)


def test_an_empty_corpus_spares_what_was_packed(tmp_path: Path) -> None:
    tokenizer = slmtok.train(slmtok.Texts([TEXT]), vocab_size=280)
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt").touch()
    pack(tmp_path / "a.txt", tokenizer, tmp_path / "out")
    before = sorted(path.name for path in (tmp_path / "out").iterdir())
    with pytest.raises(OutputExists):
        pack(tmp_path / "b.txt", tokenizer, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == before


def test_stdin_is_looked_at(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "slmtok", "count", "-", "-o", str(tmp_path / "a.counts")]
    for data, code, message in ((b"\x7fELF\0", 2, b"stdin is an ELF program"), (b"", 1, b"the corpus is empty")):
        ran = subprocess.run(command, input=data, capture_output=True, check=False)
        assert ran.returncode == code and message in ran.stderr, ran.stderr


UNUSUAL_TEXTS = ["a\r\nb\r\n" * 50, "\ufeffa\ufeff b\r", "plain \ufeff\ufeff text", "\r\r\r"]


def test_occurrences_are_those_of_the_text() -> None:
    counts, documents = slmtok.count(slmtok.Texts(UNUSUAL_TEXTS)).native, Documents(UNUSUAL_TEXTS)
    for character in ("\r", "\ufeff", "a", "\t"):
        each = [text.count(character) for text in UNUSUAL_TEXTS]
        assert counts.occurrences(character.encode()) == sum(each)
        assert documents.occurrences(character.encode()).tolist() == each


def test_unusual_characters_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in UNUSUAL_TEXTS))
    slmtok.train(slmtok.Texts([TEXT]), vocab_size=280).save(tmp_path / "tok.json")
    notes = (
        "note: 104 carriage returns in the text were kept; they are in the texts of records\n"
        "note: 4 byte order marks in the text were kept; they are in the texts of records\n"
    )
    for command in (
        ["count", "a.jsonl", "-o", "a.counts"],
        ["train", "a.jsonl", "--vocab", "276", "-o", "b.json"],
        ["pack", "a.jsonl", "-t", "tok.json", "-o", "data"],
        ["pack", "a.jsonl", "-t", "tok.json", "-o", "nanogpt", "--output-format", "nanogpt"],
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "slmtok", *command], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert notes in ran.stderr, (command, ran.stderr)


def test_pack_counts_what_it_packs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\r\n" * 50_000)
    tokenizer = slmtok.train(slmtok.Texts([TEXT]), vocab_size=280)
    for options, wanted in (({}, 50_000), ({"max_docs": 7}, 7)):
        states: list[State] = []
        target = tmp_path / f"{wanted}"
        settings = {"document": "line", "val": "none", **options}
        pack(tmp_path / "a.txt", tokenizer, target, on_progress=states.append, **settings)
        assert states[-1].unusual == (wanted, 0, 0)


def test_encoded_files_are_not_mapped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT * 2000, encoding="utf-16")
    options = ReadOptions(encoding="utf-16")
    batches = Corpus(find(tmp_path / "a.txt", options), options, parts=True).batches(threads=1)
    assert b"".join(batch.texts.data for batch, _ in batches) == (TEXT * 2000).encode()


def test_notes_about_a_wrong_file(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Öl und Äpfel, ".encode("latin-1") * 9)
    (tmp_path / "space.txt").write_bytes(b" \n\t\n" * 9)
    for name, note in (
        ("latin.txt", "for text in Latin-1, for instance, run it again with --encoding latin-1 --force"),
        ("space.txt", "note: the text is white space alone, 36 bytes: is it the right file?"),
    ):
        command = [sys.executable, "-m", "slmtok", "count", name, "-o", name + ".counts"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert note in " ".join(ran.stderr.split()), ran.stderr


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="Linux has files without a size")
def test_files_without_a_size_are_piped_in(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="has text, and the system says that it has 0 bytes") as caught:
        texts(Path("/proc/cpuinfo"))
    assert "cat /proc/cpuinfo | slmtok ... -" in str(caught.value.fix)


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".xz"])
def test_no_bytes_are_no_compressed_text(tmp_path: Path, suffix: str) -> None:
    """As of a download that failed; gzip, zstd and xz refuse them as well."""
    (tmp_path / "whole.txt").write_text("text")
    (tmp_path / f"cut.txt{suffix}").touch()
    with pytest.raises(Unreadable, match="has 0 bytes, and its name ends in"):
        slmtok.count(tmp_path)


def test_a_zstd_frame_with_a_dictionary_or_an_impossible_window_is_named(tmp_path: Path) -> None:
    dictionary = zstandard.train_dictionary(1024, [b"the cat sat on the mat %d" % n * 9 for n in range(99)])
    (tmp_path / "a.txt.zst").write_bytes(zstandard.ZstdCompressor(dict_data=dictionary).compress(b"the cat"))
    with pytest.raises(Unreadable, match=f"compressed, number {dictionary.dict_id()}") as caught:
        texts(tmp_path / "a.txt.zst")
    assert caught.value.fix is not None and "zstd -dc -D DICTIONARY" in caught.value.fix
    (tmp_path / "b.txt.zst").write_bytes(b"\x28\xb5\x2f\xfd\0\xf8" + bytes(20))
    with pytest.raises(Unreadable, match="a window of 2,097,152 MiB"):
        texts(tmp_path / "b.txt.zst")


def test_a_gzipped_tar_archive_without_the_suffix_of_gzip_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat")
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        archive.add(tmp_path / "a.txt", "a.txt")
    with pytest.raises(OptionError, match="python -m tarfile -e"):
        check_texts([str(tmp_path / "a.tgz")], ReadOptions(format="text"), is_any_read=False)


def test_a_zstd_window_above_the_limit_is_no_damage(tmp_path: Path) -> None:
    """A sound file of `zstd --long=31`: to fetch it again would not help."""
    compressor = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    data = bytearray(compressor.compress(TEXT.encode()) + compressor.flush())
    assert not data[4] & 0x20, "the frame has a descriptor of its window"
    path = tmp_path / "a.jsonl.zst"
    for bits in (28, 31):
        data[5] = (bits - 10) << 3
        path.write_bytes(data)
        with pytest.raises(Unreadable, match=f"needs a window of {1 << (bits - 20):,} MiB") as caught:
            texts(path)
        assert f"zstd -dc --long={bits} {path} | slmtok ... - --format jsonl" in str(caught.value)
    path = tmp_path / "a.txt.zst"
    data[5] = (27 - 10) << 3
    path.write_bytes(data)
    assert texts(path) == [TEXT.encode()]
    # A single segment of 200 MiB.
    path.write_bytes(bytes(data[:4]) + b"\xa0" + (200 << 20).to_bytes(4, "little"))
    with pytest.raises(Unreadable, match="needs a window of 200 MiB"):
        texts(path)


def test_an_xz_dictionary_above_the_limit_is_piped_in(tmp_path: Path) -> None:
    """Each file that is read at once holds its dictionary, which no limit of memory counts."""
    path = tmp_path / "a.lines.xz"
    for before, fits in (([], True), ([], False), ([{"id": lzma.FILTER_DELTA, "dist": 1}], False)):
        filters = [*before, {"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 64 << 20}]
        data = bytearray(lzma.compress(TEXT.encode(), filters=filters))
        # The block header stands behind the 12 bytes of the stream header, and ends with its checksum.
        at, end = data.index(b"\x21\x01", 12) + 2, 12 + data[12] * 4
        data[at] = 30 if fits else 32
        data[end : end + 4] = zlib.crc32(data[12:end]).to_bytes(4, "little")
        path.write_bytes(data)
        if fits:
            assert texts(path) == TEXT.encode().splitlines()
            continue
        with pytest.raises(Unreadable, match="needs a dictionary of 256 MiB") as caught:
            texts(path)
        assert f"xz -dc {path} | slmtok ... - --format lines" in str(caught.value)


def test_packed_data_name_the_text_that_was_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b c.txt"):
        Path(name).write_text("the cat sat on the mat\n" * 20)
    tok = slmtok.train(["a.txt"], vocab_size=280, allow_smaller=True)
    slmtok.pack(["a.txt", "b c.txt"], tok, "data", val="none")
    with pytest.raises(OptionError, match=r"fix:   name the text that was packed: a\.txt 'b c\.txt'$"):
        slmtok.count("data")
    options = {"separator": "\n", "val": "none", "eos": False}
    slmtok.pack(["a.txt", "b c.txt"], tok, "cut", **options)
    named = "name the text that was packed: a.txt 'b c.txt', with separator='\\n'"
    for call, fix in (
        (lambda: slmtok.count("cut"), named),
        (lambda: slmtok.pack("cut", tok, "new"), f"{named}, eos=False, val='none'"),
        (lambda: slmtok.pack("cut", tok, "new", val="tail:10%"), f"{named}, eos=False"),
    ):
        with pytest.raises(OptionError) as caught:
            call()
        assert caught.value.fix == fix
    Path("a.txt").unlink()
    with pytest.raises(OptionError, match=r"fix:   name the text that was packed$"):
        slmtok.count("data")
    Path("data/manifest.json").write_text('{"format": "slm-shards", "plan": []}')
    with pytest.raises(OptionError, match=r"fix:   name the text that was packed$"):
        slmtok.count("data")


def test_a_sample_of_one_document_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.txt").write_text("".join(f"some words {number} that repeat\n\n" for number in range(500)))
    said = r"the sample left out the only one\n  fix:   separator='\\n\\n' beside it makes a document of each "
    with pytest.raises(CorpusTooSmall, match=said):
        slmtok.train("one.txt", vocab_size=280, allow_smaller=True, sample=0.1)
    made = slmtok.train("one.txt", vocab_size=280, allow_smaller=True, sample=0.1, separator="\n\n")
    with pytest.raises(CorpusTooSmall, match=said):
        slmtok.pack("one.txt", made, "data", sample=0.1)
    Path("many.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    with pytest.raises(CorpusTooSmall, match="the sample left out all of them"):
        slmtok.pack("many.jsonl", made, "data", sample=1e-9)


def test_a_sample_of_none_names_one_that_keeps_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("many.jsonl").write_text("".join(f'{{"text": "some words {at}"}}\n' for at in range(181)))
    said = r"the sample left out 181 documents\n  fix:   sample=0.055, which keeps about 10; or leave sample out$"
    with pytest.raises(CorpusTooSmall, match=said):
        slmtok.train("many.jsonl", vocab_size=280, sample=1e-9)
    assert 0 < slmtok.count("many.jsonl", sample=0.055).documents < 30
    Path("few.jsonl").write_text("".join(f'{{"text": "some words {at}"}}\n' for at in range(20)))
    with pytest.raises(CorpusTooSmall, match=r"the sample left out 20 documents\n  fix:   leave sample out$"):
        slmtok.train("few.jsonl", vocab_size=280, sample=1e-9)
