"""A run that stops anywhere and is resumed ends in the same bytes; what cannot be resumed is refused."""

from __future__ import annotations

import json
import os

import pytest
from slmtok_shards import content

import slmtok
from slmtok.errors import CorruptShard, DiskFull, OutputExists, PlanMismatch
from slmtok.shards import pack, writer

STOP = KeyboardInterrupt


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    """Many units; and no waiting for the disk, which matters to those only that lose their power."""
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 3000)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def whole(records, tokenizer, tmp_path):
    """The folder of a run that nothing stopped."""
    pack(records, tokenizer, tmp_path / "whole", shard_tokens=5000, threads=1)
    return content(tmp_path / "whole")


def stopping(after):
    """A watch that stops the run after some units."""
    left = [after]

    def on_progress(state):
        left[0] -= 1
        if left[0] < 0:
            raise STOP

    return on_progress


@pytest.mark.parametrize("reader", ["engine", "python"])
@pytest.mark.parametrize("synced", [0, 1e9])
def test_stopped_again_and_again(records, tokenizer, tmp_path, whole, monkeypatch, synced, reader):
    monkeypatch.setattr(writer, "CHECKPOINT_SECONDS", synced)
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 0 if reader == "engine" else 1 << 30)
    stops = 0
    while True:
        try:
            pack(records, tokenizer, tmp_path / "d", shard_tokens=5000, threads=1 + stops % 3, on_progress=stopping(3))
            break
        except STOP:
            stops += 1
            assert not (tmp_path / "d/manifest.json").exists()
    assert stops > 3
    assert content(tmp_path / "d") == whole


def killed(monkeypatch, after):
    """The n-th sync from here on and all behind it raise, as if the process had died there."""
    count = [0]

    class Killed(BaseException):
        pass

    def fsync(descriptor):
        count[0] += 1
        if count[0] > after:
            raise Killed

    monkeypatch.setattr(os, "fsync", fsync)
    return Killed


@pytest.mark.parametrize("start", [0, 1, 2])
def test_dead_at_any_sync(records, tokenizer, tmp_path, whole, monkeypatch, start):
    """Every place where something is made durable, those around the manifest among them."""
    monkeypatch.setattr(writer, "CHECKPOINT_SECONDS", 1e9)
    for after in range(start, 400, 3):
        out = tmp_path / f"d{after}"
        with monkeypatch.context() as patch:
            death = killed(patch, after)
            try:
                pack(records, tokenizer, out, shard_tokens=5000)
                break
            except death:
                pass
        inodes = {path.name: path.stat().st_ino for path in out.iterdir() if path.suffix == ".bin"}
        if (out / "manifest.json").exists() and not (out / "journal.jsonl").exists():
            assert content(out) == whole
            continue
        journal = (out / "journal.jsonl").read_bytes().splitlines()
        known = {shard["name"] for line in journal for shard in json.loads(line)["shards"]}
        pack(records, tokenizer, out, shard_tokens=5000)
        assert content(out) == whole
        for name in known:
            assert (out / f"{name}.bin").stat().st_ino == inodes[f"{name}.bin"]
    else:
        pytest.fail("the run never ended")
    assert after > 20


def begun(records, tokenizer, out):
    with pytest.raises(STOP):
        pack(records, tokenizer, out, shard_tokens=5000, on_progress=stopping(9), threads=1)


@pytest.mark.parametrize("torn", [b'{"cursor":[0,3', b"\0\0\0\0", b'{"cursor":"x"}\n', b"[]\n", b"7\n"])
def test_a_torn_line_is_dropped(records, tokenizer, tmp_path, whole, torn):
    begun(records, tokenizer, tmp_path / "d")
    with (tmp_path / "d/journal.jsonl").open("ab") as file:
        file.write(torn)
    pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)
    assert content(tmp_path / "d") == whole


@pytest.mark.parametrize("place", [[7, 1, 8, 8], [7, 0, 0, 0], [-1, 1, -1, -1], [1 << 63, 1, 0, 0], [0, 1], "abcd"])
def test_an_invalid_position_is_dropped(records, tokenizer, tmp_path, whole, monkeypatch, place):
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 0)
    begun(records, tokenizer, tmp_path / "d")
    line = json.loads((tmp_path / "d/journal.jsonl").read_bytes().splitlines()[-1])
    torn = json.dumps({**line, "shards": [], "place": place}).encode() + b"\n"
    with (tmp_path / "d/journal.jsonl").open("ab") as file:
        file.write(torn)
    pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)
    assert content(tmp_path / "d") == whole


def test_a_torn_plan_starts_again(records, tokenizer, tmp_path, whole):
    begun(records, tokenizer, tmp_path / "d")
    (tmp_path / "d/plan.json").write_bytes(b'{"format": "slm')
    pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)
    assert content(tmp_path / "d") == whole


def test_another_plan_is_refused_by_its_field(records, tokenizer, tmp_path, whole):
    out = tmp_path / "d"
    begun(records, tokenizer, out)
    for field, arguments in {
        "options.shard_tokens: 5000, now 6000": {"shard_tokens": 6000},
        'options.frame: "bos_eos", now "eos"': {"bos": False},
        'options.val: "auto", now "none"': {"val": "none"},
        "options.read.max_docs: null, now 7": {"max_docs": 7},
    }.items():
        with pytest.raises(PlanMismatch, match=field):
            pack(records, tokenizer, out, **{"shard_tokens": 5000, **arguments})
    with pytest.raises(PlanMismatch, match=r"tokenizer\.fingerprint"):
        pack(records, slmtok.slice(tokenizer, 500), out, shard_tokens=5000)
    other = tmp_path / "docs.jsonl"
    other.write_bytes(records.read_bytes()[:-9] + b'another"}')
    with pytest.raises(PlanMismatch, match=r"sources\[0\]\.edges"):
        pack(other, tokenizer, out, shard_tokens=5000)
    pack(records, tokenizer, out, shard_tokens=5000, force=True)
    assert content(out) == whole


def test_two_at_once_are_refused(records, tokenizer, tmp_path):
    def on_progress(state):
        with pytest.raises(OutputExists, match="another process"):
            pack(records, tokenizer, tmp_path / "d")

    pack(records, tokenizer, tmp_path / "d", on_progress=on_progress)


def test_a_shard_shorter_than_the_journal_says(records, tokenizer, tmp_path):
    begun(records, tokenizer, tmp_path / "d")
    part = next((tmp_path / "d").glob("*.bin.tmp"))
    os.truncate(part, 5000)
    with pytest.raises(CorruptShard, match="shorter than the journal says"):
        pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)


def test_a_full_disk(records, tokenizer, tmp_path, whole, monkeypatch):
    """Whatever write fails, the error says what to do, and doing it ends in the same bytes."""
    from slmtok.shards.writer import ShardWriter

    real = ShardWriter.append
    calls = [0]

    def full(self, documents):
        calls[0] += 1
        if calls[0] == 25:
            raise OSError(28, "No space left on device")
        real(self, documents)

    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "append", full)
        with pytest.raises(DiskFull, match="no space left while writing shard") as caught:
            pack(records, tokenizer, tmp_path / "d", shard_tokens=5000, threads=1)
    error = caught.value
    assert "shards are complete" in str(error.where) and "resumes at document" in str(error.fix)
    assert "GiB, then run" in str(error.fix)
    assert not (tmp_path / "d/manifest.json").exists()
    pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)
    assert content(tmp_path / "d") == whole


@pytest.mark.parametrize("packing", ["", ".gz"])
def test_little_work_is_repeated(texts, tokenizer, tmp_path, monkeypatch, packing):
    """Stopped at four fifths: what is encoded again is a small part, also where a stream has to be unpacked anew."""
    import gzip

    from slmtok.corpus.batches import _ChunkedFile

    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    corpus = tmp_path / f"docs.jsonl{packing}"
    corpus.write_bytes(gzip.compress(lines) if packing else lines)
    monkeypatch.setattr(writer, "CHECKPOINT_SECONDS", 0)
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 0)
    encoded, real = [], _ChunkedFile.locate

    def counted(self, documents):
        encoded.append(documents.nbytes)
        return real(self, documents)

    monkeypatch.setattr(_ChunkedFile, "locate", counted)
    pack(corpus, tokenizer, tmp_path / "whole", val="hash:10%", threads=1)
    whole, batches = sum(encoded), len(encoded)
    encoded.clear()
    with pytest.raises(STOP):
        pack(corpus, tokenizer, tmp_path / "d", val="hash:10%", threads=1, on_progress=stopping(batches * 4 // 5))
    encoded.clear()
    pack(corpus, tokenizer, tmp_path / "d", val="hash:10%", threads=1)
    assert content(tmp_path / "d") == content(tmp_path / "whole")
    assert sum(encoded) < 0.25 * whole


def test_the_share_that_is_read(texts, tokenizer, tmp_path, monkeypatch):
    """Ascends to all of it, for files that the engine reads and for others."""
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 0)
    corpus = tmp_path / "c"
    corpus.mkdir()
    for number in range(3):
        (corpus / f"{number}.lines").write_text("\n".join(texts[number::3]), encoding="utf-8")
        (corpus / f"{number}.txt").write_text("\n".join(texts[number::3]), encoding="utf-8")
    shares = []
    pack(corpus, tokenizer, tmp_path / "d", threads=1, on_progress=lambda state: shares.append(state.share))
    assert shares == sorted(shares) and 0 < shares[0] < 0.7 and shares[-1] > 0.8
