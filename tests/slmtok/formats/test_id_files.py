"""Reading ids: lines in blocks of any size against a plain reading, the memory of a long line, damaged arrays."""

from __future__ import annotations

import io
import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from slmtok.errors import CorruptFile, DocumentTooLarge, MalformedRecord, SlmtokError
from slmtok.formats import id_files
from slmtok.formats.id_files import read_ids


def by_words(data: bytes) -> list[list[int]]:
    return [[int(word.split(b":")[0]) for word in line.split()] for line in io.BytesIO(data)]


def read(data: bytes) -> list[list[int]]:
    rows = list(id_files.parse_lines(io.BytesIO(data), "x"))
    assert [number for number, _ in rows] == list(range(1, len(rows) + 1))
    return [ids.tolist() for _, ids in rows]


def samples() -> list[bytes]:
    rng = random.Random(0)
    made = [b"", b"\n", b"5", b"5\n", b" 5", b"5 ", b"\n\n5\n\n", b"5\r\n6\r\n", b"\t1\x0b2\x0c3"]
    for _ in range(60):
        words = []
        for _ in range(rng.randrange(40)):
            id = rng.choice((rng.randrange(10), rng.randrange(100000), 2**32 + rng.randrange(9), 2**63 - 1))
            start = rng.randrange(1000)
            words.append(
                rng.choice((f"{id}", f"{id}:{start}:{start + rng.randrange(3)}")) if rng.random() < 0.9 else ""
            )
            words.append(rng.choice((" ", " ", " ", "\n", "\t", "  ", "\r\n")))
        made.append("".join(words).encode())
    return made


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64, 1 << 18])
def test_blocks_read_what_lines_hold(monkeypatch, block):
    monkeypatch.setattr(id_files, "BLOCK_BYTES", block)
    for data in samples():
        assert read(data) == by_words(data)


@pytest.mark.parametrize("word", [b"x", b"+1", b"1:2", b"3:2:1"])
def test_the_word_at_fault_is_counted_over_blocks(word):
    line = b"1 " * 300_000
    with pytest.raises(MalformedRecord) as caught:
        read(b"1\n" + line + word + b"\n")
    assert caught.value.where == "x, line 2, word 300001"


@pytest.mark.parametrize("junk", [b"x", b"0", b"9", b":"])
def test_one_endless_word_is_refused_early(junk):
    stream = io.BytesIO(junk * (8 << 20))
    with pytest.raises(SlmtokError) as caught:
        list(id_files.parse_lines(stream, "x"))
    assert stream.tell() < 1 << 20
    assert len(str(caught.value)) < 500


class Endless(io.RawIOBase):
    """A stream of one text again and again."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def read(self, size: int = -1) -> bytes:
        assert size > 0, "no bound"
        return (self.text * (size // len(self.text) + 1))[:size]


def test_what_does_not_end_is_refused(monkeypatch):
    monkeypatch.setattr(id_files, "MAX_DOCUMENT_IDS", 300_000)
    with pytest.raises(DocumentTooLarge, match="a line has more than 300,000 ids") as caught:
        list(id_files.parse_lines(Endless(b"7 "), "x"))  # type: ignore[arg-type]
    assert caught.value.where == "x, line 1"
    monkeypatch.setattr(id_files, "open_bytes", lambda source: Endless(b"\x07\x00"))
    for kind in ("bin", "npy"):
        with pytest.raises(DocumentTooLarge, match="an array has more than 1,200,000 bytes"):
            list(read_ids("-", kind))


@pytest.mark.parametrize("word", [b"12345", b"12345:100000:100005"])
def test_a_long_line_costs_little_more_than_its_ids(word):
    number = 1_000_000
    stream = io.BytesIO((word + b" ") * number)
    tracemalloc.start()
    try:
        ((_, ids),) = id_files.parse_lines(stream, "x")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert ids.dtype == np.uint32 and len(ids) == number
    assert peak < 4 * ids.nbytes + (16 << 20)


def saved(values: list[float], dtype: str) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values, dtype=dtype))
    return file.getvalue()


def archive() -> bytes:
    file = io.BytesIO()
    np.savez(file, ids=np.arange(3))
    return file.getvalue()


FAULTS = {
    "archive": (archive(), "it is an archive of arrays"),
    "text": (b"1 2 3", "it is not a .npy file"),
    "empty": (b"", "it is empty"),
    "cut short": (saved([1, 2, 3], "<u2")[:-1], "truncated"),
    "header": (saved([1, 2, 3], "<u2").replace(b"}", b"("), "damaged"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_array(tmp_path: Path, fault: str) -> None:
    content, reason = FAULTS[fault]
    (tmp_path / "ids.npy").write_bytes(content)
    with pytest.raises(CorruptFile, match=reason):
        list(read_ids(str(tmp_path / "ids.npy"), "npy", itemsize=2))


@pytest.mark.parametrize("offsets", [archive(), b"", saved([0, 3], "<f8"), saved([0, 3, 1, 3], "<u8")])
def test_no_offsets(tmp_path: Path, offsets: bytes) -> None:
    (tmp_path / "ids.npy").write_bytes(saved([1, 2, 3], "<u2"))
    (tmp_path / "ids.npy.offsets.npy").write_bytes(offsets)
    with pytest.raises(CorruptFile, match="does not fit"):
        list(read_ids(str(tmp_path / "ids.npy"), "npy", itemsize=2))
