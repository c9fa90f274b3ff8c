"""The committed counts file: the engine and a reader written from its specification read it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import slmtok
from slmtok.training.counts import open_counts

GOLDEN = Path(__file__).with_name("golden") / "mixed-1.counts"
DOCUMENTS = {"a.txt": "the cat sat on the mat\n", "b.py": "x = 1\nxx = 12\n", "c.txt": "the cat naïve\xff 今天 the\n"}


def written(folder: Path) -> Path:
    """The file that stands behind the golden one."""
    for name, text in DOCUMENTS.items():
        (folder / name).write_bytes(text.encode())
    slmtok.count(folder, domains={"code": "*.py"}).save(folder / "mixed.counts")
    return folder / "mixed.counts"


def test_what_is_written_today_is_the_golden_file(tmp_path: Path) -> None:
    assert written(tmp_path).read_bytes() == GOLDEN.read_bytes()


def test_the_specification_reads_it() -> None:
    """docs/formats/counts.md as a program, without slmtok."""
    data = GOLDEN.read_bytes()
    number = lambda at, size: int.from_bytes(data[at : at + size], "little")  # noqa: E731
    assert data[:8] == b"SLMCOUNT" and number(8, 4) == 1
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    body = 16 + number(12, 4)
    head = json.loads(data[16:body])
    columns = len(head["domains"])
    end = len(data) - 40 - 32 * number(len(data) - 40, 8)
    assert hashlib.sha256(data[: end - 32]).digest() == data[end - 32 : end]
    sums = end - 32 - 8 * (2 * columns + 3)
    blocks = number(end - 40, 8)
    rows = []
    for block in range(blocks):
        entry = sums - 16 * (blocks - block)
        at = body + number(entry, 8)
        stop, piece = at + number(entry + 8, 4), b""
        while at < stop:
            shared, at = varint(data, at)
            more, at = varint(data, at)
            piece, at = piece[:shared] + data[at : at + more], at + more
            counts = []
            for _ in range(columns):
                one, at = varint(data, at)
                counts.append(one)
            rows.append((piece, counts))
    loaded = slmtok.PretokenCounts.load(GOLDEN)
    assert [(piece, sum(counts)) for piece, counts in rows] == loaded.items()
    assert number(sums, 8) == len(rows)
    for column, domain in enumerate(loaded.domains):
        assert domain.native.items() == [(piece, counts[column]) for piece, counts in rows if counts[column]]
        assert number(sums + 8 + 8 * column, 8) == domain.native.pieces
    assert open_counts(GOLDEN).head.totals.documents == 3


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number in base 128, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_bytes(written(Path(folder)).read_bytes())
