"""The engine's reading of a corpus against reference parsers in Python: the same documents, the same errors."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from slmtok import errors
from slmtok._engine import Counter, DocumentPipeline, DocumentReader, Documents, Pattern
from slmtok.corpus import Corpus, Position, Skipped, jsonl, open_reader, read
from slmtok.corpus.batches import ChunkStart
from slmtok.errors import MalformedRecord
from slmtok.options import ReadOptions
from slmtok.training.ingest import MAX_SAMPLE_DOCUMENTS, Sample, ingest

NUMBERS = ["0", "-0", "1.5e+30", "1e999", "-", "01", "1.", ".5", "NaN", "-Infinity", "9" * 299, "9" * 5000, "1" * 301]
SCALARS = ["true", "null", "false", "tru", '"x"', '"\\ud800"', '"\\uD83D\\ude00"', '"\\u00zz"', '"\\q"', '"\t"', "'a'"]
NESTED = ["[]", "{}", "[ ]", "{ }", '[1, {"text": "no"}]', '{"a": [[], {}]}', "[1,]", '{"a":}', "[}"]
NESTED += ["[" * 70 + "]" * 70]
TEXTS = ['""', '"plain"', '"\\n\\"\\\\\\/\\b\\f\\r\\t\\u0000"', '"é中😀"']
TEXTS += ['"\\u00e9\\u4E2d\\ud83d\\ude00"', '"\\ude00"', '"\x7f"']
KEYS = ['"text"', '"text"', '"other"', '"te\\u0078t"', '""', "text", '"text "']
SPACES = ["", " ", "\t", "\r", "  ", "\x0b", "\u00a0"]
AROUND = ["", "", "\ufeff", "\x00", " ", "\r", "x", "\x1f"]


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line that is almost a record."""
    space = st.sampled_from(SPACES)
    values = st.sampled_from(TEXTS * 3 + NUMBERS + SCALARS + NESTED)
    fields = [
        f"{draw(space)}{draw(st.sampled_from(KEYS))}{draw(space)}:{draw(space)}{draw(values)}{draw(space)}"
        for _ in range(draw(st.integers(0, 3)))
    ]
    line = f"{draw(st.sampled_from(AROUND))}{{{','.join(fields)}}}{draw(st.sampled_from(AROUND))}".encode()
    if draw(st.booleans()) and draw(st.booleans()):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.sampled_from([b"", b"\xff", b"\xed\xa0\x80", b'"', b"\\", b"}"])) + line[at + 1 :]
    return line.replace(b"\n", b"")


def by_engine(data: bytes, options: ReadOptions, chunk_bytes: int = 64) -> tuple[list[bytes], int]:
    reader = DocumentReader(
        io.BytesIO(data).read,
        "jsonl",
        key=options.text_key.encode(),
        fallback=jsonl.parser("x", options),
        chunk_bytes=chunk_bytes,
    )
    found, skipped = [], 0
    for documents in reader:
        found += list(documents)
        skipped += len(documents.skips)
        if documents.error is not None:
            raise documents.error
    return found, skipped


def by_python(data: bytes, options: ReadOptions) -> tuple[list[bytes], int]:
    """The reference: the json module, line by line."""
    parse = jsonl.parser("x", options)
    found = [parse(line, number) for number, line in enumerate(io.BytesIO(data), 1) if not line.isspace()]
    return [text for text in found if isinstance(text, bytes)], found.count(None)


@given(st.lists(lines(), max_size=4), st.sampled_from([b"\n", b"\r\n"]), st.booleans(), st.sampled_from([1, 64, 4096]))
def test_records_are_those_of_the_json_module(found: list[bytes], end: bytes, closed: bool, chunk_bytes: int) -> None:
    data = end.join(found) + (end if closed else b"")
    skipping = ReadOptions(skip_malformed=True)
    assert by_engine(data, skipping, chunk_bytes) == by_python(data, skipping)
    try:
        wanted: object = by_python(data, ReadOptions())
    except errors.MalformedRecord as error:
        wanted = str(error), error.fields
    try:
        got: object = by_engine(data, ReadOptions(), chunk_bytes)
    except errors.MalformedRecord as error:
        got = str(error), error.fields
    assert got == wanted


@settings(max_examples=50)
@given(
    st.dictionaries(st.text(), st.recursive(st.text() | st.integers() | st.floats() | st.none(), st.lists)), st.text()
)
def test_output_of_json_needs_no_fallback(record: dict[str, object], text: str) -> None:
    """No line of the json module goes to the fallback parser, but for escaped names, NaN and lone surrogates."""
    record = {**record, "text": text}
    for ascii_only in (False, True):
        try:
            line = json.dumps(record, ensure_ascii=ascii_only, allow_nan=False).encode()
            wanted = [text.encode()]
        except ValueError:
            continue
        if any("\\" in json.dumps(name, ensure_ascii=ascii_only) for name in record):
            continue
        assert list(next(DocumentReader(io.BytesIO(line).read, "jsonl", key=b"text"))) == wanted


def write_corpus(folder: Path) -> list[str]:
    texts = [("é" * (n % 50) + f"\n{n}") for n in range(1500)]
    data = b"".join(json.dumps({"id": n, "text": text}).encode() + b"\n" for n, text in enumerate(texts))
    middle = data.index(b"\n", 5000) + 1
    cut = data[:middle] + b"{}\n\n" + data[middle:]
    (folder / "a.jsonl").write_bytes(cut)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(cut, mtime=0))
    (folder / "c.txt").write_bytes(b"one document\n" * 3)
    (folder / "d.jsonl.zst").write_bytes(zstandard.compress(cut[:middle]) + zstandard.compress(cut[middle:]))
    (folder / "e.jsonl.xz").write_bytes(lzma.compress(cut))
    (folder / "f.jsonl").write_bytes(data[:300])
    (folder / "g.lines").write_bytes(b"line\n\nmore\r\n" * 5_000)
    return sorted(str(path) for path in folder.iterdir())


@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize(
    "options", [{}, {"max_docs": 3400}, {"sample": 0.5}, {"text_template": "{id}: {text}"}], ids=str
)
def test_batches_are_the_documents_of_read(
    tmp_path: Path, options: dict[str, object], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 1000)
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 20_000)
    sources = write_corpus(tmp_path)
    chosen = ReadOptions(skip_malformed=True, **options)  # type: ignore[arg-type]
    skipped = Skipped()
    wanted = [(document.text, document.source, document.record) for document in read(sources, chosen, skipped)]
    corpus = Corpus(sources, chosen)
    found = []
    for batch, encoded in corpus.batches(threads=threads):
        assert encoded is None
        starts = [*batch.starts, (len(batch), Position())]
        for (first, start), (end, _) in pairwise(starts):
            found += [(batch.texts[index], start.source, start.record + index - first) for index in range(first, end)]
        assert all(skip <= len(batch) for skip in batch.skips)
    assert found == wanted
    assert skipped == corpus.skipped


def test_the_engine_chunks_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 1000)
    write_corpus(tmp_path)
    for corpus in (Corpus([], ReadOptions()), Corpus([], ReadOptions(text_template="{text}"))):
        for name in ("a.jsonl", "b.jsonl.gz", "d.jsonl.zst", "e.jsonl.xz", "g.lines"):
            assert corpus.is_chunked(str(tmp_path / name)), name
        for name in ("c.txt", "f.jsonl"):
            assert not corpus.is_chunked(str(tmp_path / name)), name
    assert not Corpus([], ReadOptions(sample=0.5)).is_chunked(str(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("name", ["b.jsonl.gz", "d.jsonl.zst", "e.jsonl.xz"])
def test_a_damaged_compressed_file(tmp_path: Path, name: str) -> None:
    write_corpus(tmp_path)
    path = tmp_path / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    compression = path.suffix[1:]
    with pytest.raises(errors.Unreadable, match=rf"'{path}' ends in the middle of its compressed data") as caught:
        list(DocumentReader(str(path), "text", compression=compression))  # type: ignore[arg-type]
    assert (caught.value.where, caught.value.fix) == (str(path), "fetch the file again, or compress its text again")
    path.write_bytes(b"\1" * 100_000)
    with pytest.raises(errors.Unreadable, match="cannot read"):
        list(DocumentReader(str(path), "text", compression=compression))  # type: ignore[arg-type]


@pytest.mark.parametrize("threads", [0, 2])
def test_a_pipeline_keeps_the_order_and_raises_in_it(tmp_path: Path, threads: int) -> None:
    lines = [b'{"text": "%d"}\n' % number for number in range(3000)]
    lines[2500] = b"oops\n"
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines))

    def sources() -> Iterator[object]:
        yield iter([Documents(["x"]), Documents(["y", "z"])])
        yield open_reader(str(tmp_path / "a.jsonl"), ReadOptions(), chunk_bytes=500)

    pipeline = DocumentPipeline(sources(), threads=threads)  # type: ignore[arg-type]
    found = []
    with pytest.raises(MalformedRecord) as caught:
        for index, documents, encoded in pipeline:
            assert encoded is None
            found += [(index, text) for text in documents]
    assert caught.value.fields["line"] == 2501
    assert found[:4] == [(0, b"x"), (0, b"y"), (0, b"z"), (1, b"0")]
    assert found[3:] == [(1, b"%d" % number) for number in range(len(found) - 3)]
    assert len(found) > 2400
    pipeline.close()
    assert list(DocumentPipeline(iter([]), threads=threads)) == []


def test_a_whole_file_in_parts(tmp_path: Path) -> None:
    data = "naïve text\n".encode() * 5000
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(data))
    reader = DocumentReader(str(tmp_path / "a.txt.gz"), "text", compression="gz", chunk_bytes=7000)
    parts = list(reader)
    assert b"".join(part.data for part in parts) == data
    assert [part.partial for part in parts] == [True] * (len(parts) - 1) + [False]
    assert [len(part) for part in parts] == [0] * (len(parts) - 1) + [1]
    assert (parts[-1].digests, parts[-1].sizes.tolist()) == (hashlib.sha256(data).digest(), [len(data)])


def test_threads_take_different_chunks(tmp_path: Path) -> None:
    data = b"".join(b"%d\n" % n for n in range(50_000))
    (tmp_path / "a.lines").write_bytes(data)
    reader = DocumentReader(str(tmp_path / "a.lines"), "text", terminator=b"\n", chunk_bytes=1000)
    taken: list[Documents] = []
    threads = [threading.Thread(target=lambda: taken.extend(reader)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken.sort(key=lambda documents: documents.chunk)
    assert [documents.chunk for documents in taken] == list(range(-(-len(data) // 1000)))
    assert b"".join(line + b"\n" for documents in taken for line in documents) == data
    assert reader.bytes_read == len(data)
    by_number = DocumentReader(str(tmp_path / "a.lines"), "text", terminator=b"\n", chunk_bytes=1000, first_chunk=17)
    assert list(next(by_number)) == list(taken[17])
    later = DocumentReader(str(tmp_path / "a.lines"), "text", terminator=b"\n", chunk_bytes=1000, start=taken[17].begin)
    assert list(next(later)) == list(taken[17])
    stream = DocumentReader(io.BytesIO(data).read, "text", terminator=b"\n", chunk_bytes=1000, start=taken[17].end)
    assert list(next(stream)) == list(taken[18])
    for wrong in [(0, 0, 0, 0), (5, 1, 5, 6), (1 << 63, 1, 0, 0)]:
        with pytest.raises(ValueError, match="start is not a position"):
            DocumentReader(str(tmp_path / "a.lines"), "text", start=wrong)


def test_a_chunk_of_many_documents_comes_in_batches_from_which_reading_resumes(tmp_path: Path) -> None:
    """Ten million blank lines took 1.7 GB: each document takes memory beside its text."""
    path = tmp_path / "blank.txt"
    path.write_bytes(b"\n" * 150_000 + b"last\n")
    corpus = Corpus([str(path)], ReadOptions(document="line"))
    batches = [batch for batch, _ in corpus.batches()]
    assert [len(batch) for batch in batches] == [65_536, 65_536, 18_929]
    for batch, later in pairwise(batches):
        behind = batch.position(len(batch))
        assert (behind, behind.chunk) == (later.position(0), later.chunk)
        assert behind.chunk is not None and behind.chunk.number == 0, "the chunk goes on"
        first, _ = next(corpus.batches(behind))
        assert (first.texts.data, first.starts) == (later.texts.data, later.starts)
    # An earlier release resumes at the start of the chunk.
    middle = batches[1].position(10)
    assert middle.chunk is not None
    old = Position(0, middle.record, ChunkStart(0, 0, batches[0].chunk and batches[0].chunk.position))
    assert [len(batch) for batch, _ in corpus.batches(old)] == [65_526, 18_929]


@pytest.mark.parametrize("threads", [0, 2])
def test_a_record_of_a_file_that_changed_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 1000)
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 20_000)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "the cat sat on the mat"}\n' * 40_000)
    batches = Corpus([str(path)], ReadOptions()).batches(threads=threads)
    next(batches)
    os.truncate(path, 1_000_003)
    with pytest.raises(errors.Unreadable, match="was changed while it was read"):
        list(batches)
    batches.close()
    with pytest.raises(MalformedRecord):
        list(Corpus([str(path)], ReadOptions()).batches())


def test_a_row_of_a_file_that_changed_is_not_blamed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"text\n" + b'"the cat, sat"\n' * 100_000)
    documents = read([str(path)], ReadOptions())
    next(documents)
    os.truncate(path, 1_000_003)
    with pytest.raises(errors.Unreadable, match="was changed while it was read"):
        list(documents)
    with pytest.raises(MalformedRecord):
        list(read([str(path)], ReadOptions()))


def test_a_sample_holds_few_documents() -> None:
    """Empty ones add nothing to its bytes."""
    sample = Sample()
    for _ in range(150_000):
        sample.offer(b"")
    assert len(sample.kept) <= MAX_SAMPLE_DOCUMENTS and sample.offered == 150_000


def test_documents_in_one_buffer() -> None:
    texts = ["first", b"", "é", bytearray(b"last")]
    documents = Documents(texts)
    plain = [b"first", b"", "é".encode(), b"last"]
    assert list(documents) == plain
    assert (documents[-1], documents.data, documents.nbytes) == (b"last", b"".join(plain), 11)
    assert documents.offsets.tolist() == [0, 5, 5, 7, 11]
    assert documents.numbers.tolist() == [1, 2, 3, 4]
    digests = [hashlib.sha256(text).digest() for text in plain]
    assert documents.digests == b"".join(digests)
    total = sum(int.from_bytes(digest, "big") for digest in digests) % (1 << 256)
    assert documents.digest == total.to_bytes(32, "big")
    assert list(documents.select([3, 0])) == [b"last", b"first"]
    with pytest.raises(IndexError):
        documents[4]
    with pytest.raises(IndexError):
        documents.select([4])


def test_counting_and_encoding_take_batches_whole(tmp_path: Path) -> None:
    import slmtok

    texts = ["the cat", "", "the dog sat"] * 40
    tokenizer = slmtok.train(slmtok.Texts(texts), vocab_size=280)
    documents = Documents(texts)
    encoder = tokenizer._encoder
    for threads in (1, 2):
        ids, offsets = encoder.encode_documents(documents, threads=threads, bos=1)
        wanted_ids, wanted = encoder.encode_batch(texts, bos=1)
        assert ids.tolist() == wanted_ids.tolist()
        assert offsets.tolist() == wanted.tolist()
    pattern = Pattern("slm")
    one, many = Counter(pattern), Counter(pattern)
    assert one.feed_documents(documents) is many.feed(texts) is True
    assert one.finish().items() == many.finish().items()
    assert Counter(pattern, max_bytes=20).feed_documents(documents) is False


def test_a_stream_that_fails_or_returns_too_much() -> None:
    def broken(size: int) -> bytes:
        raise KeyError("the pipe")

    with pytest.raises(KeyError, match="the pipe"):
        next(DocumentReader(broken, "text"))
    with pytest.raises(TypeError, match="more bytes than requested"):
        next(DocumentReader(lambda size: b"x" * (size + 1), "text"))
    with pytest.raises(ValueError, match="compression must be"):
        DocumentReader(broken, "text", compression="zip")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="format must be"):
        DocumentReader(broken, "tables")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="key to 'jsonl', not to"):
        DocumentReader(broken, "records", key=b"text")
    with pytest.raises(ValueError, match="terminator belongs to 'text'"):
        DocumentReader(broken, "jsonl", terminator=b"\n")


def test_counts_of_the_engine_are_those_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    sources = write_corpus(tmp_path)
    seen = []
    for small in (1000, 1 << 40):
        monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", small)
        for limit in (None, 100_000):
            options = ReadOptions(skip_malformed=True, max_bytes=limit)
            counter = Counter(Pattern("slm"), max_bytes=limit)
            stats = ingest(counter, sources, replace(options, max_bytes=None))
            sample = (stats.sample.kept, stats.sample.stride, stats.sample.offered) if limit is None else None
            seen.append((counter.finish().items(), stats.corpus_digest, stats.skipped, stats.starts, sample))
    assert seen[0] == seen[2]
    assert seen[1] == seen[3]
    assert seen[0][1] is not None
    assert seen[1][1] is None


ABANDONS = """
import os, sys
from slmtok.corpus import Corpus
from slmtok.options import ReadOptions

batches = Corpus([sys.argv[1]], ReadOptions()).batches(threads=2)
next(batches)
if sys.argv[2] == "fork" and (child := os.fork()):
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("way", ["exit", "fork"])
def test_a_process_may_end_in_the_middle_of_a_corpus(tmp_path: Path, way: str) -> None:
    """Threads of the engine that read Python's batches end before the interpreter; forked processes have none."""
    if way == "fork" and not hasattr(os, "fork"):
        pytest.skip("no fork here")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"{number} " * 40 for number in range(60_000)]}), path)
    command = [sys.executable, "-c", ABANDONS, str(path), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
