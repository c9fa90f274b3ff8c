"""Resuming inside a compressed file: the same bytes, and parts that can be skipped are not decompressed."""

from __future__ import annotations

import gzip
import json
import lzma
import random

import pytest
import zstandard
from slmtok_shards import content

from slmtok.corpus import batches
from slmtok.errors import Unreadable
from slmtok.shards import pack, writer


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    """Many units, small files too."""
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 3000)
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 0)
    monkeypatch.setattr(writer, "CHECKPOINT_SECONDS", 0)


def pieces(data, least, most):
    """The data in pieces of these sizes, by chance."""
    chance, at = random.Random(5), 0
    while at < len(data):
        size = chance.randint(least, most)
        yield data[at : at + size]
        at += size


def frames(data, least, most, *, sized):
    """Frames of Zstandard, with their content size or without, and frames between that all decoders skip."""
    for number, piece in enumerate(pieces(data, least, most)):
        if number % 3 == 1:
            yield b"\x5a\x2a\x4d\x18" + (9).to_bytes(4, "little") + b"no text\n\n"
        yield zstandard.ZstdCompressor(write_content_size=sized, write_checksum=number % 2 == 0).compress(piece)


PACKED = {
    "plain": ("jsonl", lambda data: data),
    "one frame": ("jsonl.zst", lambda data: zstandard.ZstdCompressor().compress(data)),
    "large frames": ("jsonl.zst", lambda data: b"".join(frames(data, 5000, 30_000, sized=True))),
    "frames of no size": ("jsonl.zst", lambda data: b"".join(frames(data, 1000, 20_000, sized=False))),
    "tiny frames": ("jsonl.zst", lambda data: b"".join(frames(data, 1, 200, sized=True))),
    "one member": ("jsonl.gz", gzip.compress),
    "members": ("jsonl.gz", lambda data: b"".join(map(gzip.compress, pieces(data, 500, 9000)))),
    "xz": ("jsonl.xz", lzma.compress),
}
LEAPS = {"plain", "large frames", "frames of no size", "tiny frames", "members"}


@pytest.fixture
def began(monkeypatch):
    """Where each file was begun to be read: None for its start, else bytes of the file and of its text."""
    found, real = [], batches.open_reader

    def spy(path, options, *, start=None, **others):
        found.append(None if start is None else start[2:])
        return real(path, options, start=start, **others)

    monkeypatch.setattr(batches, "open_reader", spy)
    return found


def stopped(corpus, tokenizer, out, units, threads=1):
    """Packs until some units are written. Whether that was the end."""
    left = [units]

    def on_progress(state):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    try:
        pack(corpus, tokenizer, out, val="hash:10%", shard_tokens=9000, threads=threads, on_progress=on_progress)
    except KeyboardInterrupt:
        return False
    return True


@pytest.mark.parametrize("kind", PACKED)
def test_the_same_bytes_wherever_it_stopped(texts, tokenizer, tmp_path, began, kind):
    ending, packing = PACKED[kind]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    corpus = tmp_path / f"docs.{ending}"
    corpus.write_bytes(packing(lines))
    pack(corpus, tokenizer, tmp_path / "whole", val="hash:10%", shard_tokens=9000, threads=1)
    whole = content(tmp_path / "whole")
    runs = 0
    while not stopped(corpus, tokenizer, tmp_path / "d", 7, threads=1 + runs % 2):
        runs += 1
    assert runs > 4
    assert content(tmp_path / "d") == whole
    # Behind the last part, the end of the file is a border too.
    leapt = [begin for begin in began if begin is not None and 0 < begin[0] < corpus.stat().st_size]
    if kind not in LEAPS:
        assert not leapt
        return
    assert leapt == sorted(leapt) and leapt[-1][0] > 0.6 * corpus.stat().st_size


def test_skipped_parts_are_not_read(texts, tokenizer, tmp_path, monkeypatch):
    """Sources that have not changed are not read again from the start."""
    monkeypatch.setattr("slmtok.shards.plan.stamp", lambda paths: "00" * 32)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    corpus = tmp_path / "docs.jsonl.zst"
    packed = b"".join(frames(lines, 5000, 9000, sized=True))
    corpus.write_bytes(packed)
    monkeypatch.setattr("slmtok.shards.plan._EDGE_BYTES", 16)
    pack(corpus, tokenizer, tmp_path / "whole", val="hash:10%", shard_tokens=9000, threads=1)
    middle, later = len(packed) // 2, len(packed) * 9 // 10
    for spoilt, sound in [(slice(1000, middle - 3000), True), (slice(later, later + 2000), False)]:
        corpus.write_bytes(packed)
        out = tmp_path / f"d{sound}"
        assert not stopped(corpus, tokenizer, out, len(lines) // 3000 * 6 // 10)
        damaged = bytearray(packed)
        damaged[spoilt] = b"\xee" * len(damaged[spoilt])
        corpus.write_bytes(damaged)
        if sound:
            assert stopped(corpus, tokenizer, out, 1 << 30)
            assert content(out) == content(tmp_path / "whole")
        else:
            with pytest.raises(Unreadable, match="cannot read"):
                stopped(corpus, tokenizer, out, 1 << 30)
