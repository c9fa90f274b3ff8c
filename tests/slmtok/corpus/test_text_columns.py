"""Documents that are read as columns are those that are read one by one: texts, positions, skips and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmtok import errors
from slmtok._engine import Documents
from slmtok.corpus import Corpus, Position, Skipped, arrow, formats, reading
from slmtok.corpus.text_columns import TextColumn, join
from slmtok.options import ReadOptions

TEXTS = st.lists(
    st.none() | st.sampled_from(["", "a", "é中😀", "\r\n", "\ufeffx", "long " * 30]) | st.text(), max_size=30
)
KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())]
KINDS += [pa.string_view()] if hasattr(pa, "string_view") else []


def column(texts: list[str | None], kind: Any, cuts: list[int]) -> Any:
    """A column of several chunks, each a slice of a longer array."""
    bounds = sorted({0, len(texts), *(cut for cut in cuts if cut < len(texts))})
    chunks = []
    for begin, end in pairwise(bounds):
        array = pa.array(["before", None, *texts[begin:end], "behind"], kind)
        chunks.append(array.slice(2, end - begin))
    return pa.chunked_array(chunks, kind)


def outcome(corpus: Corpus, start: Position, threads: int = 0) -> tuple[list[Any], Any]:
    """All that batches say, and the error that ended them."""
    found: list[Any] = []
    try:
        for batch, _ in corpus.batches(start, threads=threads):
            found.append((list(batch.texts), batch.texts.digests, batch.starts, batch.skips, batch.dropped))
    except errors.SlmtokError as error:
        return found, (type(error), str(error), error.fields)
    return found, replace(corpus.skipped)


def both(read: Callable[[], Any]) -> tuple[Any, Any]:
    """What `read` returns with columns and without."""
    with pytest.MonkeyPatch.context() as patch:
        by_column = read()
        for name in ("parquet", "hugging_face"):
            patch.setitem(formats.FORMATS, name, replace(formats.FORMATS[name], columns=None))
        return by_column, read()


@given(
    st.lists(TEXTS, min_size=1, max_size=3),
    st.sampled_from(KINDS),
    st.lists(st.integers(1, 29), max_size=3),
    st.tuples(st.integers(0, 2), st.integers(0, 20)),
    st.sampled_from([1, 40, 1 << 20]),
    st.sampled_from([1, 3, 1 << 16]),
    st.sampled_from([{}, {"skip_malformed": True}, {"skip_malformed": True, "max_doc_bytes": 100}]),
)
def test_columns_are_the_documents_one_by_one(
    files: list[list[str | None]],
    kind: Any,
    cuts: list[int],
    start: tuple[int, int],
    chunk_bytes: int,
    max_documents: int,
    options: dict[str, Any],
) -> None:
    """Tables stand for the files, because parquet does not keep types and chunks."""
    tables = [pa.table({"text": column(texts, kind, cuts)}) for texts in files]

    def read_rows(convert: Any) -> Any:
        def read(path: str, options: ReadOptions, skipped: Any) -> Iterator[Any]:
            table = tables[int(path)]
            for row in range(0, len(table), 7):
                yield from convert(table.slice(row, 7), arrow.template_of(options), options, skipped, path, row=row)

        return read

    def read() -> tuple[list[Any], Any]:
        return outcome(Corpus(list(map(str, range(len(files)))), ReadOptions(**options)), Position(*start))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "CHUNK_BYTES", chunk_bytes)
        patch.setattr("slmtok.corpus.batches.MAX_BATCH_DOCUMENTS", max_documents)
        entry = replace(formats.FORMATS["parquet"], rows=read_rows(arrow._texts), columns=None)
        patch.setattr("slmtok.corpus.batches.format_of", lambda *_: entry)
        patch.setattr(reading, "format_of", lambda *_: entry)
        one_by_one = read()
        columns = replace(entry, columns=read_rows(arrow._columns))
        patch.setattr(reading, "format_of", lambda *_: columns)
        assert read() == one_by_one


@pytest.mark.parametrize("use_dictionary", [False, True])
@pytest.mark.parametrize("threads", [0, 2])
def test_files_of_parquet(tmp_path: Path, use_dictionary: bool, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK_BYTES", 3000)
    texts = [None if n % 40 == 7 else f"é{n}" * (n % 90) for n in range(5000)]
    for name, rows in (("a", texts), ("b", ["end"])):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"text": rows}), path, row_group_size=700, use_dictionary=use_dictionary)
    paths = sorted(map(str, tmp_path.iterdir()))

    def read(**options: Any) -> Any:
        corpus = Corpus(paths, ReadOptions(**options))
        found = [
            (list(batch.texts), batch.starts, batch.skips, list(map(batch.position, range(len(batch) + 1))))
            for batch, _ in corpus.batches(Position(0, 17), threads=threads)
        ]
        return found, corpus.skipped

    by_column, one_by_one = both(lambda: read(skip_malformed=True))
    assert by_column == one_by_one
    assert by_column[1].records == sum(text is None for text in texts[18:])
    for options, place in (({}, "row 8, row group 1"), ({"skip_malformed": True, "max_doc_bytes": 200}, "row 52")):
        corpus = Corpus(paths, ReadOptions(**options))  # type: ignore[arg-type]
        by_column, one_by_one = both(lambda: outcome(corpus, Position(), threads=threads))  # noqa: B023
        assert by_column == one_by_one
        assert f"{paths[0]}, {place}" in by_column[1][1]


def test_a_data_set(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows: list[str | None] = [None if n % 900 == 1 else f"row {n} ü" for n in range(3000)]
    datasets.Dataset.from_dict({"text": rows}).select(range(2500, 0, -1)).save_to_disk(str(tmp_path / "saved"))
    source = f"hf:{tmp_path / 'saved'}"
    for options in ({}, {"skip_malformed": True}):
        by_column, one_by_one = both(lambda: outcome(Corpus([source], ReadOptions(**options)), Position(0, 5)))  # noqa: B023
        assert by_column == one_by_one


def test_a_column_is_read_without_an_object_for_each_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only with few rows in a batch: the values of a dictionary bound these."""
    monkeypatch.setattr(arrow, "_texts", None)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"{n} " * 200 for n in range(20_000)]}), path)
    group = pq.ParquetFile(path).metadata.row_group(0)
    assert arrow._batch_rows([group.column(0)], group.num_rows, 1 << 30, str(path)) >= 25
    assert group.column(0).total_uncompressed_size > 16 << 20
    assert sum(len(batch) for batch, _ in Corpus([str(path)], ReadOptions()).batches()) == 20_000


def test_offsets_of_a_column_are_checked() -> None:
    data = np.frombuffer(b"abcdef", np.uint8)

    def columns(*offsets: int, of: Any = data) -> Documents:
        return Documents.from_columns([(of, np.array(offsets, np.int64))])

    assert list(columns(1, 3, 3, 6)) == [b"bc", b"", b"def"]
    assert list(columns(0)) == list(columns(6)) == list(Documents.from_columns([])) == []
    for wrong in ((), (-1, 2), (0, 7), (3, 2), (0, 5, 4, 6), (0, 1 << 62), (7,)):
        with pytest.raises(ValueError, match="ascending positions"):
            columns(*wrong)
    with pytest.raises((TypeError, ValueError)):
        columns(0, 1, of=data[::2])
    with pytest.raises(TypeError):
        columns(0, 1, of=data.astype(np.int64))


def test_texts_and_columns_join_in_order() -> None:
    column = TextColumn.of([b"b", b"", "é".encode()])
    assert list(join([])) == []
    assert list(join([b"a", b""])) == [b"a", b""]
    mixed = join([b"a", column, b"c", b"", column.part(2, 3), TextColumn.of([b"", b""])])
    assert list(mixed) == [b"a", b"b", b"", "é".encode(), b"c", b"", "é".encode(), b"", b""]
    assert mixed.numbers.tolist() == list(range(1, 10))
    assert mixed.digests == Documents(list(mixed)).digests


def columns_of(array: Any) -> list[Any]:
    options = ReadOptions()
    return list(arrow._columns(pa.table({"text": array}), arrow.template_of(options), options, Skipped(), "x", row=0))


def test_offsets_of_a_damaged_table_are_refused() -> None:
    offsets = pa.py_buffer(np.array([0, 9000, 3], np.int32))
    with pytest.raises(pa.ArrowInvalid):
        columns_of(pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"abc")))


def test_offsets_of_a_mapped_file_need_not_be_aligned() -> None:
    offsets = pa.py_buffer(b"?" + np.array([0, 1, 3], np.int64).tobytes()).slice(1)
    array = pa.LargeStringArray.from_buffers(2, offsets, pa.py_buffer(b"abc"))
    assert list(join(columns_of(array))) == [b"a", b"bc"]
