"""A run that stops anywhere and is resumed ends in the same bytes; what cannot be resumed is refused."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from pathlib import Path

import pytest
from slmtok_shards import content

import slmtok
from slmtok import atomic
from slmtok.cli.errors import flag_naming
from slmtok.errors import CorruptShard, DiskFull, MalformedRecord, OutputExists, PlanMismatch, Unreadable
from slmtok.shards import pack, writer

STOP = KeyboardInterrupt


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    """Many units."""
    monkeypatch.setattr("slmtok.corpus.reading.CHUNK_BYTES", 3000)


@pytest.fixture(scope="module")
def whole(records, tokenizer, tmp_path_factory):
    """The files of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole") / "whole"
    pack(records, tokenizer, folder, shard_tokens=5000, threads=1)
    return content(folder)


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
        inodes = {path.name: path.stat().st_ino for path in out.glob("*.bin")}
        if (out / "manifest.json").exists() and not (out / "journal.jsonl").exists():
            assert content(out) == whole
            continue
        # Killed before its first line, a journal is removed here and left empty by a real death.
        journal = (out / "journal.jsonl").read_bytes().splitlines() if (out / "journal.jsonl").exists() else []
        known = {shard["name"] for line in journal for shard in json.loads(line).get("shards", [])}
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


def test_temporary_files_of_a_process_that_ended_are_removed(records, tokenizer, tmp_path, whole, monkeypatch):
    begun(records, tokenizer, tmp_path / "d")
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1 << 30)  # above the numbers that systems give
        for name in ("plan.json", "tok.json", "vocab.json", "manifest.json"):
            atomic.temporary_path(tmp_path / "d" / name).touch()
    pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)
    assert content(tmp_path / "d") == whole


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


def test_a_damaged_plan_is_refused(records, tokenizer, tmp_path, whole):
    """It is written whole or not at all, so somebody has edited it."""
    begun(records, tokenizer, tmp_path / "d")
    (tmp_path / "d/plan.json").write_bytes(b'{"format": "slm')
    with pytest.raises(CorruptShard, match="not a valid plan"):
        pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)
    pack(records, tokenizer, tmp_path / "d", shard_tokens=5000, force=True)
    assert content(tmp_path / "d") == whole


def test_another_plan_is_refused_by_its_field(records, tokenizer, tmp_path, whole):
    out = tmp_path / "d"
    begun(records, tokenizer, out)
    for field, arguments in {
        "shard_tokens=5000, now shard_tokens=6000": {"shard_tokens": 6000},
        "bos=True, now bos=False": {"bos": False},
        "val='auto', now val='none'": {"val": "none"},
        "without max_docs, now max_docs=7": {"max_docs": 7},
    }.items():
        with pytest.raises(PlanMismatch, match=field):
            pack(records, tokenizer, out, **{"shard_tokens": 5000, **arguments})
    with pytest.raises(PlanMismatch, match=r"tokenizer\.fingerprint"):
        pack(records, slmtok.slice(tokenizer, 500), out, shard_tokens=5000)
    other = tmp_path / "docs.jsonl"
    other.write_bytes(records.read_bytes()[:-9] + b'another"}')
    with pytest.raises(PlanMismatch, match=r"other sources: docs\.jsonl has changed since"):
        pack(other, tokenizer, out, shard_tokens=5000)
    pack(records, tokenizer, out, shard_tokens=5000, force=True)
    assert content(out) == whole


@pytest.mark.parametrize("force", [False, True])
def test_a_copy_of_hard_links_stays_as_it_was(records, tokenizer, tmp_path, whole, force):
    """As of `cp -al` and of backups: what continues in the folder changes no file of the copy."""
    begun(records, tokenizer, tmp_path / "d")
    shutil.copytree(tmp_path / "d", tmp_path / "copy", copy_function=os.link)
    before = content(tmp_path / "copy")
    pack(records, tokenizer, tmp_path / "d", shard_tokens=5000, force=force)
    assert content(tmp_path / "d") == whole
    assert content(tmp_path / "copy") == before
    pack(records, tokenizer, tmp_path / "copy", shard_tokens=5000)
    assert content(tmp_path / "copy") == whole


def test_two_at_once_are_refused(records, tokenizer, tmp_path):
    def on_progress(state):
        with pytest.raises(OutputExists, match="another process"):
            pack(records, tokenizer, tmp_path / "d")

    pack(records, tokenizer, tmp_path / "d", on_progress=on_progress)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_folder_that_is_moved_while_it_is_written(records, tokenizer, tmp_path, whole, is_replaced):
    out, moved = tmp_path / "d", []

    def on_progress(state):
        if len(state.shards) == 1 and not moved:
            moved.append(out.rename(tmp_path / "moved"))
            if is_replaced:
                out.mkdir()

    with pytest.raises(Unreadable, match="was removed or replaced while it was written"):
        pack(records, tokenizer, out, shard_tokens=5000, threads=1, on_progress=on_progress)
    assert moved and not (out.exists() and list(out.iterdir()))
    pack(records, tokenizer, out, shard_tokens=5000)
    assert content(out) == whole


def test_a_folder_that_is_replaced_before_its_first_shard(records, tokenizer, tmp_path, whole, monkeypatch):
    from slmtok.shards.writer import ShardWriter

    out, open_files = tmp_path / "d", ShardWriter.open

    def replace_and_open(self):
        out.rename(tmp_path / "moved")
        out.mkdir()
        open_files(self)

    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "open", replace_and_open)
        with pytest.raises(Unreadable, match="was removed or replaced while it was written"):
            pack(records, tokenizer, out, shard_tokens=5000)
    assert not (out.exists() and list(out.iterdir()))
    pack(records, tokenizer, out, shard_tokens=5000)
    assert content(out) == whole


def test_a_shard_shorter_than_the_journal_says(records, tokenizer, tmp_path):
    begun(records, tokenizer, tmp_path / "d")
    part = next((tmp_path / "d").glob("*.bin.tmp"))
    os.truncate(part, 5000)
    with pytest.raises(CorruptShard, match="shorter than the journal says"):
        pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)


@pytest.mark.parametrize("removals", [0, 1, 3, 8])
def test_a_replacement_that_stops_while_it_removes_is_begun_again(
    records, tokenizer, tmp_path, whole, monkeypatch, removals
):
    """The journal of the replaced run names shards that are gone; the same call, with force or without, ends."""
    for force in (True, False):
        out = tmp_path / f"d{force}"
        with pytest.raises(KeyboardInterrupt):
            pack(records, tokenizer, out, shard_tokens=5000, threads=1, on_progress=stopping(12))
        unlink, left = Path.unlink, [removals]

        def stopped(path, missing_ok=False, left=left, unlink=unlink):
            left[0] -= 1
            if left[0] < 0:
                raise STOP
            unlink(path, missing_ok=missing_ok)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", stopped)
            with pytest.raises(KeyboardInterrupt):
                pack(records, tokenizer, out, shard_tokens=5000, threads=1, force=True)
        pack(records, tokenizer, out, shard_tokens=5000, threads=1, force=force)
        assert content(out) == whole


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


def test_a_full_disk_at_the_end_says_what_stays(records, tokenizer, tmp_path, whole, monkeypatch):
    real = atomic.write_synced

    def full(path, data):
        if "manifest.json" in path.name:
            raise OSError(28, "No space left on device")
        real(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "write_synced", full)
        with pytest.raises(DiskFull, match=r"no space left while writing 'manifest\.json'") as caught:
            pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)
    assert str(caught.value.where) == f"{tmp_path / 'd'}; its shards stay, and no part of manifest.json was left"
    pack(records, tokenizer, tmp_path / "d", shard_tokens=5000)
    assert content(tmp_path / "d") == whole


@pytest.mark.parametrize("force", [False, True])
def test_a_corpus_that_changes_while_it_is_packed_says_what_stays(records, tokenizer, tmp_path, monkeypatch, force):
    """The tokenizer of the data that `force` replaces may be the only copy."""
    out = tmp_path / "d"
    if force:
        pack(records, tokenizer, out)
    stamps = map("{:064x}".format, itertools.count())
    monkeypatch.setattr("slmtok.shards.plan.stamp", lambda paths: next(stamps))
    monkeypatch.setattr("slmtok.shards.run.PackRun._has_packed", lambda run, state: False)
    with pytest.raises(PlanMismatch, match="the corpus was changed while it was packed") as caught:
        pack(records, tokenizer, out, force=force)
    left = "the earlier data were removed, tok.json, vocab.json of them stay" if force else "nothing partial was left"
    assert str(caught.value.where) == f"{out}; {left}"
    names = [path.name for path in out.iterdir() if not path.name.startswith(".")] if force else []
    assert sorted(names) == (["tok.json", "vocab.json"] if force else []) and out.exists() == force


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


@pytest.mark.parametrize("reader", ["engine", "python"])
def test_a_corpus_that_changed_where_it_was_read_is_refused(records, tokenizer, tmp_path, monkeypatch, reader):
    """At equal size, far from the ends of the file; behind the position, a change is that of a fresh run."""
    monkeypatch.setattr("slmtok.corpus.batches.MIN_CHUNKED_BYTES", 0 if reader == "engine" else 1 << 30)
    monkeypatch.setattr("slmtok.shards.plan._EDGE_BYTES", 16)
    corpus = tmp_path / "docs.jsonl"
    original = records.read_bytes()
    assert b"the" in original[2000:3000] and b"the" in original[-3000:-2000]
    for place, is_noticed in ((2000, True), (len(original) - 3000, False)):
        corpus.write_bytes(original)
        out = tmp_path / f"d{place}"
        with pytest.raises(STOP):
            pack(corpus, tokenizer, out, shard_tokens=5000, on_progress=stopping(9), threads=1)
        at = original.index(b"the", place)
        corpus.write_bytes(original[:at] + b"tha" + original[at + 3 :])
        if is_noticed:
            with pytest.raises(PlanMismatch, match="corpus has changed since") as caught:
                pack(corpus, tokenizer, out, shard_tokens=5000)
            assert "--force" in caught.value.render(flag_naming)
            corpus.write_bytes(original)
        pack(corpus, tokenizer, out, shard_tokens=5000)
        pack(corpus, tokenizer, tmp_path / f"fresh{place}", shard_tokens=5000)
        assert content(out) == content(tmp_path / f"fresh{place}")


def test_edited_journals_are_refused(records, tokenizer, tmp_path, whole, monkeypatch):
    """A line removed, moved, repeated or changed in any field, or another plan."""
    monkeypatch.setattr(writer, "CHECKPOINT_SECONDS", 0)
    out = tmp_path / "d"
    begun(records, tokenizer, out)
    saved = {path.name: path.read_bytes() for path in out.iterdir()}
    lines = saved["journal.jsonl"].splitlines(keepends=True)
    assert len(lines) > 6
    digit = lambda line, n: line[: -9 - n] + (b"0" if line[-9 - n : -8 - n] != b"0" else b"1") + line[-8 - n :]  # noqa: E731
    edits = {
        "removed": lines[:3] + lines[4:],
        "first removed": lines[1:],
        "moved": [*lines[:3], lines[4], lines[3], *lines[5:]],
        "repeated": [*lines[:4], lines[3], *lines[4:]],
        **{f"digit {n}": [*lines[:3], digit(lines[3], n), *lines[4:]] for n in range(0, len(lines[3]) - 20, 11)},
        "not JSON": [*lines[:3], b"x\n", *lines[4:]],
        "empty line": [*lines[:3], b"\n", *lines[4:]],
        "skipped": [line.replace(b'"skipped":0', b'"skipped":7') for line in lines],
    }
    for edited in edits.values():
        for path in out.iterdir():
            path.unlink()
        for file, data in saved.items():
            (out / file).write_bytes(data)
        (out / "journal.jsonl").write_bytes(b"".join(edited))
        with pytest.raises(CorruptShard, match=r"not a valid journal: line \d+:"):
            pack(records, tokenizer, out, shard_tokens=5000)
    pack(records, tokenizer, out, shard_tokens=5000, force=True)
    assert content(out) == whole
    # The plan belongs to the journal too.
    for file, data in saved.items():
        (out / file).write_bytes(data)
    for path in out.iterdir():
        if path.name not in saved:
            path.unlink()
    (out / "plan.json").write_bytes(saved["plan.json"].replace(b"hash:10%", b"hash:11%"))
    with pytest.raises(CorruptShard, match=r"line 1: it belongs to another plan\.json"):
        pack(records, tokenizer, out, shard_tokens=5000)


@pytest.mark.parametrize("layout", ["slm", "nanogpt"])
def test_a_refused_text_leaves_no_folder_in_which_its_remedy_is_refused(records, tokenizer, tmp_path, layout):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "a"}\n{"text": 3}\n')
    call = {
        "corpus": [records, bad],
        "tokenizer": tokenizer,
        "out": tmp_path / "d",
        "output_format": layout,
        "val": "none",
    }
    with pytest.raises(MalformedRecord) as caught:
        pack(**call)
    assert caught.value.fix == "skip_malformed=True to skip such records; the summary counts them"
    assert not (tmp_path / "d").exists()
    # Complete shards stay: another disk or another time may be all that they lack.
    for _ in range(2):
        with pytest.raises(MalformedRecord) as caught:
            pack(**call, shard_tokens=5000)
        assert "; force=True as well, because " in caught.value.fix and "holds shards of this" in caught.value.fix
    with pytest.raises(PlanMismatch, match="was started without skip_malformed, now skip_malformed=True"):
        pack(**call, shard_tokens=5000, skip_malformed=True)
    with pytest.warns(UserWarning, match="1 malformed record skipped"):
        pack(**call, shard_tokens=5000, skip_malformed=True, force=True)
