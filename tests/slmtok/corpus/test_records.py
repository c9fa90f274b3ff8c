"""Readers of records: tsv and parquet, templates over fields, separators, the places of malformed records."""

from __future__ import annotations

import gzip
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmtok import errors
from slmtok._engine import DocumentReader
from slmtok.corpus import Skipped, find, json_file, read
from slmtok.corpus.json_values import DECODER
from slmtok.corpus.template import Template
from slmtok.options import ReadOptions

ROWS = [{"title": "One", "text": "first\nlines", "n": 1}, {"title": "Zwei", "text": "Ő 中", "n": 20}]


def texts(*paths: Path, **options: object) -> list[bytes]:
    chosen = ReadOptions(**options)  # type: ignore[arg-type]
    return [document.text for document in read(find([str(path) for path in paths], chosen), chosen)]


def containers(folder: Path) -> list[Path]:
    """The same records in every format that has names for fields."""
    folder.mkdir(exist_ok=True)
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    flat = [{**row, "text": str(row["text"]).replace("\n", " ")} for row in ROWS]
    table = "\r\n".join(["title\ttext\tn", *("\t".join(map(str, row.values())) for row in flat)])
    (folder / "b.tsv").write_bytes(table.encode())
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "c.parquet")
    return sorted(folder.iterdir())


def test_template_joins_fields_alike_in_every_format(tmp_path: Path) -> None:
    for path in containers(tmp_path):
        found = texts(path, text_template="{n}. {title}\n{text}{{}}")
        wanted = [f"{row['n']}. {row['title']}\n{row['text']}{{}}".encode() for row in ROWS]
        if path.suffix == ".tsv":
            wanted = [text.replace(b"first\nlines", b"first lines") for text in wanted]
        assert found == wanted, path
        assert texts(path, text_key="title") == [b"One", b"Zwei"], path


@given(st.lists(st.text(max_size=5), min_size=1, max_size=4), st.lists(st.text(max_size=9), min_size=4, max_size=4))
def test_template_equals_str_format(words: list[str], values: list[str]) -> None:
    spelled = "".join(word.replace("{", "{{").replace("}", "}}") + f"{{f{index}}}" for index, word in enumerate(words))
    record = {f"f{index}": value for index, value in enumerate(values)}
    assert Template.parse(spelled).text_of(record) == spelled.format(**record).encode()


def test_tsv_by_number_and_by_name(tmp_path: Path) -> None:
    path = tmp_path / "verses.tsv"
    path.write_bytes(b"Genesis 1:1\tIn the beginning\n\nGenesis 1:2\tAnd \xff the earth\n")
    assert texts(path, text_template="{2}") == texts(path, text_key="2") == [b"In the beginning", b"And \xff the earth"]
    assert texts(path, text_template="{1} {2}")[0] == b"Genesis 1:1 In the beginning"
    assert texts(path, text_key="Genesis 1:1") == [b"Genesis 1:2"]
    with pytest.raises(errors.MalformedRecord, match=r"no column 'text' \(it has: Genesis 1:1, In the") as caught:
        texts(path)
    assert caught.value.where == f"{path}, line 1"
    assert "text_key='2'" in str(caught.value)
    with pytest.raises(errors.MalformedRecord, match="no column 3: the row has 2 columns"):
        texts(path, text_key="3")
    packed = tmp_path / "verses.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert texts(packed, text_key="2") == texts(path, text_key="2")
    (tmp_path / "empty.tsv").write_bytes(b"")
    assert texts(tmp_path / "empty.tsv", text_key="1") == []


def test_tsv_of_uneven_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"name\ttext\na\tb\nc\nd\te\tf\ng\th\n")
    with pytest.raises(errors.MalformedRecord, match="row has 1 column, the first one 2") as caught:
        texts(path)
    assert (caught.value.where, caught.value.fields["line"]) == (f"{path}, line 3", 3)
    skipped = Skipped()
    options = ReadOptions(skip_malformed=True)
    assert [document.text for document in read([str(path)], options, skipped)] == [b"b", b"h"]
    assert skipped.records == 2


KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_parquet_of_every_kind_of_text(tmp_path: Path, kind: pa.DataType) -> None:
    wanted = ["a", "", "Ő中", "x" * 5000, "e"] * 50
    column = pa.array(wanted, pa.string()).cast(kind) if not pa.types.is_dictionary(kind) else None
    column = pa.array(wanted).dictionary_encode() if column is None else column
    pq.write_table(pa.table({"other": [0] * 250, "text": column}), tmp_path / "a.parquet", row_group_size=70)
    assert texts(tmp_path / "a.parquet") == [text.encode() for text in wanted]


def test_parquet_rows_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "b", None, "d"], "id": [1, 2, 3, None]}), path, row_group_size=2)
    with pytest.raises(errors.MalformedRecord, match="field 'text' of the record is null") as caught:
        texts(path)
    assert caught.value.where == f"{path}, row 3, row group 2"
    assert (caught.value.fields["row"], caught.value.fields["row_group"]) == (3, 2)
    skipped = Skipped()
    assert [document.text for document in read([str(path)], ReadOptions(skip_malformed=True), skipped)] == [
        b"a", b"b", b"d",
    ]  # fmt: skip
    assert skipped.records == 1
    with pytest.raises(errors.MalformedRecord, match="the column 'id' holds int64, not text"):
        texts(path, text_key="id")
    with pytest.raises(errors.MalformedRecord, match=r"no column 'body' \(columns: id, text\)"):
        texts(path, text_key="body")


def test_invalid_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"plain text, and not a short one")
    with pytest.raises(errors.Unreadable, match=r"a\.parquet"):
        texts(tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": ["a" * 10_000]}), tmp_path / "b.parquet", compression="zstd")
    whole = bytearray((tmp_path / "b.parquet").read_bytes())
    whole[8:40] = bytes(32)
    (tmp_path / "b.parquet").write_bytes(whole)
    with pytest.raises(errors.Unreadable, match=r"b\.parquet"):
        texts(tmp_path / "b.parquet")
    (tmp_path / "c.parquet.gz").write_bytes(gzip.compress(b"PAR1"))
    with pytest.raises(errors.OptionError, match="cannot be read as parquet"):
        texts(tmp_path / "c.parquet.gz")
    with pytest.raises(errors.OptionError, match="stdin cannot be read as parquet"):
        list(read(["-"], ReadOptions(format="parquet")))
    with pytest.raises(errors.MissingInput, match="no file"):
        list(read([str(tmp_path / "none.parquet")], ReadOptions()))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(errors.MissingExtra, match=r"fix:   pip install pyarrow$"):
        texts(tmp_path / "a.parquet")


@given(st.binary(max_size=60), st.sampled_from(["a", "ab", "aab", "\n", "é"]), st.integers(1, 9))
def test_separated_text_equals_split(data: bytes, separator: str, part: int) -> None:
    wanted = data.split(separator.encode())
    if not wanted[-1]:
        wanted.pop()
    reader = DocumentReader(io.BytesIO(data).read, "text", terminator=separator.encode(), chunk_bytes=part)
    assert [document for batch in reader for document in batch] == wanted


def test_options_that_no_file_uses(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(errors.OptionError, match="text_template="):
        texts(tmp_path / "a.txt", text_template="{a}")
    with pytest.raises(errors.OptionError, match="text_key="):
        texts(tmp_path / "a.txt", text_key="a")
    with pytest.raises(errors.OptionError, match="separator="):
        texts(tmp_path / "a.jsonl", separator="a")


READ_ALL = """
import sys
from slmtok.corpus import read
from slmtok.options import ReadOptions
from slmtok.training.memory import peak_memory
number = size = 0
for document in read([sys.argv[1]], ReadOptions()):
    number += 1
    size += len(document.text)
print(number, size, peak_memory() >> 20)
"""


def test_half_a_million_rows_stream_in_little_memory(tmp_path: Path) -> None:
    """One row group of 200 MB, beside an equally large column that is not read."""
    column = pa.array([f"{index:03} " + "many words " * 36 for index in range(1000)])
    path = tmp_path / "m.parquet"
    table = pa.table({"text": pa.chunked_array([column] * 500), "junk": pa.chunked_array([column] * 500)})
    pq.write_table(table, path, row_group_size=1_000_000, use_dictionary=False, compression="zstd")
    done = subprocess.run([sys.executable, "-c", READ_ALL, str(path)], capture_output=True, text=True, check=True)
    number, size, memory = map(int, done.stdout.split())
    assert (number, size) == (500_000, 200_000_000)
    assert memory < 200, f"{memory} MiB"


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), path)
    for name, separator in (("a.csv", ","), ("a.tsv", "\t")):
        (tmp_path / name).write_text(f"text{separator}text\na{separator}b\n")
    for each in (path, tmp_path / "a.csv", tmp_path / "a.tsv"):
        options = ReadOptions(text_key="text")
        with pytest.raises(errors.MalformedRecord, match="the column 'text' is there 2 times"):
            list(read(find([str(each)], options), options))


def test_a_file_of_json_takes_memory_for_its_size_and_not_for_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"text": "a"}]')
    options = ReadOptions(max_doc_bytes=1 << 60)
    assert [document.text for document in read(find([str(path)], options), options)] == [b"a"]


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": "%s"}\n', "line 2"),
        ("a.json", '[{"text": "a"}, {"text": "%s"}]', "record 2"),
        ("a.csv", "text\na\n%s\n", "line 3"),
        ("a.tsv", "text\na\n%s\n", "line 3"),
    ],
)
def test_a_template_that_makes_too_large_a_text(tmp_path: Path, name: str, content: str, place: str) -> None:
    """A field may stand in it many times."""
    path = tmp_path / name
    path.write_text(content % ("word " * 100))
    options = {"text_template": "{text}" * 4, "max_doc_bytes": 1800}
    with pytest.raises(errors.MalformedRecord, match="the template makes a text of more than 1,800 bytes") as caught:
        texts(path, **options)
    assert str(caught.value.where).endswith(place)
    assert texts(path, skip_malformed=True, **options) == [b"aaaa"]
    assert len(texts(path, **{**options, "max_doc_bytes": 2100})) == 2


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t")])
def test_a_row_of_too_many_columns_is_refused_before_they_are_divided(tmp_path: Path, name: str, mark: str) -> None:
    path, marks = tmp_path / name, mark * 100_000
    for line, content in enumerate((f"text{marks}\na{marks}\n", f"text\na{marks}\n"), 1):
        path.write_text(content)
        with pytest.raises(errors.DocumentTooLarge, match="the row has 100,001 columns") as caught:
            texts(path, skip_malformed=True)
        assert str(caught.value.where).endswith(f"line {line}")
    path.write_text(f"text{mark[1:]}{marks[1:]}\na{marks[1:]}\n")
    assert texts(path) == [b"a"]


def test_commas_in_quotes_are_no_columns(tmp_path: Path) -> None:
    path, commas = tmp_path / "a.csv", "," * 100_000
    path.write_text(f'text,b\n"{commas}""\n{commas}",c\n')
    assert texts(path) == [f'{commas}"\n{commas}'.encode()]
    path.write_text(f'text,b\n"{commas}""\n"{commas}\n')
    with pytest.raises(errors.DocumentTooLarge, match="the row has 100,001 columns"):
        texts(path)


def test_a_file_of_json_has_a_bound_on_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes about a hundred bytes in memory, however short it is in the file."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": "a", "of no length": [[]] * 200}]))
    with pytest.raises(errors.DocumentTooLarge, match="has 403 values, which take 40,300 bytes") as caught:
        texts(path, max_doc_bytes=10_000)
    assert "40,000 bytes, four times" in str(caught.value)
    assert texts(path, max_doc_bytes=10_100) == [b"a"]
    # Commas and brackets in strings begin no value.
    text = '\\,"[{' * 200
    path.write_text(json.dumps([{"text": text}] * 2))
    for step in (1, 7, 1 << 20):
        monkeypatch.setattr(json_file, "_STEP", step)
        assert texts(path, max_doc_bytes=10_000) == [text.encode()] * 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
def test_signals_are_heard_while_a_file_of_json_is_parsed() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    content = json.dumps([{"text": "a"}] * 400_000)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        DECODER.decode(content)
        while_parsing = len(heard)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert while_parsing > 3
