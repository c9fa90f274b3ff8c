"""Documents of any size: counted in bounded memory or refused with file and line, from every container and device.

A file of a few kilobytes unpacks to 2 GB; unbounded reading would take as much memory.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import slmtok
from slmtok import errors
from slmtok.corpus import arrow
from slmtok.training import memory

MEMORY = "200MB"
MAX_PEAK = 500_000_000
"""The limit on memory and 300 MB."""
PART, PARTS = 100_000_000, 20


def zst(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    packed: bytes = zstandard.ZstdCompressor(level=3).compress(data)
    return packed


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A file of at most 10 MB that unpacks to 2 GB or more, made once."""
    folder = tmp_path_factory.mktemp("bombs")

    def made(name: str) -> Path:
        return folder / name if (folder / name).exists() else write_bomb(folder / name)

    return made


def write_bomb(path: Path) -> Path:
    name = path.name
    if name == "one_letter.txt.gz":
        path.write_bytes(gzip.compress(b"a" * PART, 1) * PARTS)
    elif name == "zeros.txt.zst":
        path.write_bytes(zst(b"\0" * PART) * PARTS)
    elif name == "blank_lines.txt.zst":
        path.write_bytes(zst(b"\n" * PART) * PARTS)
    elif name == "one_line.jsonl.zst":
        path.write_bytes(zst(b'{"text": "') + zst(b"a" * PART) * PARTS + zst(b'"}\n'))
    elif name == "sparse.txt":
        with path.open("wb") as file:
            file.truncate(PART * PARTS)
    else:
        write_parquet(path, repeated=name == "repeated.parquet")
    return path


def write_parquet(path: Path, *, repeated: bool) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    if path.name.startswith("prefixes"):
        options = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}, "compression": "zstd"}
        pq.write_table(pa.table({"text": ["ab " * 100_000] * 2500}), path, **options)
        return
    if repeated:
        rows = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), pa.array(["x " * 500_000]))
        pq.write_table(pa.table({"text": rows}), path, compression="zstd")
    else:
        table = pa.table({"text": pa.array(["y" * PART])})
        # The least and greatest value would take twenty times as long as everything else.
        options = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
        with pq.ParquetWriter(path, table.schema, **options) as writer:
            for _ in range(PARTS):
                writer.write_table(table)


RUN = """
import json, sys
from slmtok import cli, errors
from slmtok.training import memory
import slmtok
found = {"error": None, "where": None}
try:
    options = json.loads(sys.argv[3])
    if sys.argv[1] == "count":
        slmtok.count(sys.argv[2], **options)
    else:
        from slmtok.shards import pack
        pack(sys.argv[2], slmtok.train(slmtok.Texts(["a b c d " * 9]), vocab_size=273), "data", **options)
except errors.SlmtokError as error:
    found = {"error": type(error).__name__, "where": str(error.where)}
print(json.dumps({**found, "peak": memory.peak_memory()}))
"""


def run(verb: str, path: object, folder: Path, **options: Any) -> dict[str, Any]:
    command = [sys.executable, "-c", textwrap.dedent(RUN), verb, str(path), json.dumps(options)]
    ran = subprocess.run(command, cwd=folder, capture_output=True, timeout=110, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


BOMBS = {
    "one_letter.txt.gz": "",
    "zeros.txt.zst": "",
    "blank_lines.txt.zst": "",
    "one_line.jsonl.zst": ", line 1",
    "sparse.txt": "",
    "pages.parquet": ", row 1",
}
"""Containers of text that no place divides, and what the error names besides the file."""

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux reports it")


@LINUX
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", BOMBS)
def test_counting_a_bomb_takes_the_memory_that_it_was_given(
    bomb: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    path = bomb(name)
    # Named as text, because zeros are refused at sight otherwise.
    text = {"format": "text"} if ".txt" in name else {}
    found = run("count", path, tmp_path, memory=MEMORY, **text)
    assert (found["error"], found["where"]) == ("DocumentTooLarge", f"{path}{BOMBS[name]}")
    assert found["peak"] < MAX_PEAK


@LINUX
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["one_letter.txt.gz", "one_line.jsonl.zst", "sparse.txt", "pages.parquet"])
def test_packing_a_bomb_is_refused_at_the_limit_on_documents(
    bomb: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    path = bomb(name)
    text = {"format": "text"} if ".txt" in name else {}
    found = run("pack", path, tmp_path, max_doc_bytes=50_000_000, **text)
    assert (found["error"], found["where"]) == ("DocumentTooLarge", f"{path}{BOMBS[name]}")
    assert found["peak"] < MAX_PEAK


@LINUX
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "max_bytes"), [("repeated.parquet", 600_000_000), ("prefixes.parquet", 300_000_000)])
def test_a_value_that_later_rows_repeat_is_not_unpacked_for_all_of_them(
    bomb: Callable[[str], Path], name: str, max_bytes: int, tmp_path: Path
) -> None:
    path = bomb(name)
    found = run("count", path, tmp_path, memory=MEMORY, max_bytes=max_bytes)
    assert (found["error"], found["peak"] < MAX_PEAK) == (None, True)


@LINUX
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("name", "head", "unit", "line"),
    [
        ("quote.csv.gz", b'text\n"', b"x y " * 250_000, ", line 2"),
        ("row.csv.gz", b"text\n", b"a," * 500_000, ", line 2"),
        ("head.csv.gz", b"", b"a," * 500_000, ", line 1"),
        ("text.json.gz", b'[{"text":"', b"x y " * 250_000, ""),
    ],
)
def test_a_row_or_a_json_file_without_end_is_refused(
    name: str, head: bytes, unit: bytes, line: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(head) + gzip.compress(unit, 1) * 300)
    found = run("count", path, tmp_path, memory=MEMORY)
    assert (found["error"], found["where"]) == ("DocumentTooLarge", f"{path}{line}")
    assert found["peak"] < MAX_PEAK


@LINUX
@pytest.mark.timeout(120)
def test_a_large_footer_is_not_read(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "footer.parquet"
    pq.write_table(pa.table({"text": ["hi there"]}), path)
    # A hole of 320 MB becomes the beginning of the footer.
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 320_000_000
    with path.open("r+b") as file:
        file.truncate(len(content) - 8 + 320_000_000)
        file.seek(0, os.SEEK_END)
        file.write(footer.to_bytes(4, "little") + content[-4:])
    for options in ({"name": "count", "memory": MEMORY}, {"name": "pack"}):
        found = run(options.pop("name"), path, tmp_path, **options)
        assert (found["error"], found["where"]) == ("DocumentTooLarge", str(path))
        assert found["peak"] < MAX_PEAK // 2


def test_a_dictionary_has_the_size_that_its_page_states(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    for compression in ("none", "snappy", "zstd"):
        pq.write_table(pa.table({"text": ["a" * 1000, "b" * 3000] * 500}), path, compression=compression)
        column = pq.ParquetFile(path).metadata.row_group(0).column(0)
        assert arrow._dictionary_bytes(column, str(path)) == 4008
    # Without the header of a dictionary page at its place, the whole chunk bounds a value.
    data = bytearray(path.read_bytes())
    data[column.dictionary_page_offset] ^= 1
    path.write_bytes(data)
    assert arrow._dictionary_bytes(column, str(path)) == column.total_uncompressed_size


def test_a_row_group_of_few_rows_is_not_opened_for_its_dictionary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of 20,000 row groups was opened 20,000 times."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, opened = tmp_path / "a.parquet", list[int]()
    monkeypatch.setattr(arrow, "_dictionary_bytes", lambda part, _: opened.append(part.num_values) or 9)
    for rows in (4, 5):
        pq.write_table(pa.table({"text": ["the cat"] * 20}), path, row_group_size=rows)
        groups = (pq.ParquetFile(path).metadata.row_group(index) for index in range(4))
        assert all(arrow._batch_rows([group.column(0)], rows, 1 << 30, str(path)) >= rows for group in groups)
    assert opened == [5, 5, 5, 5]


def test_rows_of_short_documents_are_read_together(tmp_path: Path) -> None:
    """A column chunk of many megabytes whose dictionary ended at the usual size."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"{n} " * 200 for n in range(20_000)]}), path)
    group = pq.ParquetFile(path).metadata.row_group(0)
    assert group.column(0).total_uncompressed_size > 16 << 20
    assert arrow._batch_rows([group.column(0)], group.num_rows, 1 << 30, str(path)) >= 25


@LINUX
@pytest.mark.timeout(120)
def test_a_large_document_with_words_is_counted_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "words.txt.gz"
    path.write_bytes(gzip.compress(b"the cat sat on a mat\n" * 1_000_000, 1) * 20)
    found = run("count", path, tmp_path, memory="100MB")
    assert (found["error"], found["peak"] < 200_000_000) == (None, True)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="reads a device")
@pytest.mark.parametrize("format", ["text", "jsonl"])
def test_a_device_without_end_is_refused_at_the_limit(format: str, tmp_path: Path) -> None:
    found = run("count", "/dev/zero", tmp_path, memory=MEMORY, format=format)
    assert found["error"] == "DocumentTooLarge" and found["where"].startswith("/dev/zero")
    assert found["peak"] < MAX_PEAK
    packed = run("pack", "/dev/zero", tmp_path, max_doc_bytes=10_000_000, format=format)
    assert packed["error"] == "OptionError", "pack identifies its sources before it reads them"


@pytest.mark.skipif(os.name != "posix", reason="makes a named pipe")
def test_a_pipe_is_streamed(tmp_path: Path) -> None:
    pipe, plain = tmp_path / "pipe.txt", tmp_path / "plain.txt"
    text = b"some words of a text\n" * 100_000
    plain.write_bytes(text)
    os.mkfifo(pipe)
    writer = subprocess.Popen(["cat", plain], stdout=subprocess.PIPE)
    with subprocess.Popen(["sh", "-c", 'cat "$1" > "$2"', "sh", str(plain), str(pipe)]):
        assert slmtok.count(pipe).sha256 == slmtok.count(plain).sha256
    writer.kill()
    writer.communicate()


# --- limits -----------------------------------------------------------------------------------------------------------


def test_the_limit_is_a_size_of_one_document(tmp_path: Path) -> None:
    text, lines, records = tmp_path / "a.txt", tmp_path / "a.lines", tmp_path / "a.jsonl"
    text.write_bytes(b"word " * 20)
    lines.write_bytes(b"a\nbb\n" + b"c" * 100 + b"\n")
    records.write_bytes(b'{"text": "a"}\n{"text": "' + b"c" * 76 + b'"}\n')
    tokenizer = slmtok.train(slmtok.Texts(["a b c d " * 9]), vocab_size=273)
    from slmtok.shards import pack

    for index, (path, where) in enumerate([(text, ""), (lines, ", line 3"), (records, ", line 2")]):
        with pytest.raises(errors.DocumentTooLarge, match="more than 87 bytes") as caught:
            pack(path, tokenizer, tmp_path / f"refused-{index}", max_doc_bytes=87)
        assert caught.value.where == f"{path}{where}"
        assert (caught.value.fields["bytes"], caught.value.limit) == (87, "max_doc_bytes=87")
        assert pack(path, tokenizer, tmp_path / f"packed-{index}", max_doc_bytes=100).files
    with pytest.raises(errors.OptionError, match="max_doc_bytes=0"):
        slmtok.count(text, max_doc_bytes=0)


def test_a_file_that_shrinks_while_it_is_counted_is_an_error(tmp_path: Path) -> None:
    """A mapping of it would end the process with SIGBUS."""
    path = tmp_path / "shrinking.txt"
    path.write_bytes(b"some words of a text\n" * 6_000_000)

    def shrink(stage: str, done: int, total: int) -> None:
        os.truncate(path, 1000)

    with pytest.raises(errors.Unreadable, match="became shorter than 126000000 bytes while it was read") as caught:
        slmtok.count(path, threads=1, progress=shrink)
    assert caught.value.where == str(path)
    path.write_bytes(b"some words of a text\n" * 4_000_000)
    tokenizer = slmtok.train(slmtok.Texts(["a b c d " * 9]), vocab_size=273)
    with pytest.raises(errors.Unreadable, match="became shorter"):
        tokenizer.encode_files(path, tmp_path / "ids.bin", progress=shrink)
    assert [file.name for file in tmp_path.iterdir()] == ["shrinking.txt"]


def test_the_largest_record_follows_the_memory() -> None:
    assert memory.largest_record(10**9) == 125_000_000
    assert memory.largest_record(100_000_000) == 12_500_000
    assert memory.largest_record(None) > 1 << 60
