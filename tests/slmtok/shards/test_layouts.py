"""Layouts of other programs: each is written from the same documents and read back as the same ids."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from slmtok.errors import CorruptFile, CorruptShard, OptionError, OutputExists
from slmtok.shards import folder, open_shards, pack
from slmtok.shards.format import FRAMES, vocabulary_metadata
from slmtok.shards.journal import Journal
from slmtok.shards.layouts import LAYOUTS


def ids_of(texts, tokenizer, frame):
    begin, end = FRAMES[frame]
    return [[1] * begin + tokenizer.encode_list(text) + [2] * end for text in texts]


@pytest.mark.parametrize("name", LAYOUTS)
def test_round_trip_of_every_layout(records, texts, tokenizer, tmp_path, name):
    layout = LAYOUTS[name]
    packed = pack(records, tokenizer, tmp_path / "d", output_format=name, shard_tokens=9000, val="tail:10%")
    assert packed.manifest["frame"] == layout.frame
    assert sorted(path.name for path in (tmp_path / "d").iterdir() if path.suffix in (".bin", ".npy")) == sorted(
        packed.files
    )
    wanted = [token for ids in ids_of(texts, tokenizer, layout.frame) for token in ids]
    files = packed.files[1:] + packed.files[:1] if name == "llama2c" else packed.files
    rows = [layout.read(tmp_path / "d" / file, False) for file in files]
    assert np.concatenate(rows).tolist() == wanted
    assert not (tmp_path / "d/.packing").exists()


def test_first_bytes_of_each_layout(records, texts, tokenizer, tmp_path):
    for name in LAYOUTS:
        pack(records, tokenizer, tmp_path / name, output_format=name, val="hash:10%")
    nanogpt = np.fromfile(tmp_path / "nanogpt/train.bin", dtype=np.uint16)
    assert nanogpt[-1] == 2 and nanogpt[0] != 1
    assert np.fromfile(tmp_path / "llama2c/data00.bin", dtype=np.uint16)[0] == 1
    header = struct.unpack("<256i", (tmp_path / "llmc/train_000000.bin").read_bytes()[:1024])
    assert header[:2] == (20240520, 1) and set(header[3:]) == {0}
    assert header[2] == tokens_of(tmp_path / "llmc")
    meta = json.loads((tmp_path / "nanogpt/meta.json").read_bytes())
    assert meta["n_vocab"] == 600 and meta["files"] == ["train.bin", "val.bin"]
    assert np.load(tmp_path / "npy/train.npy", mmap_mode="r").dtype == np.uint16


def tokens_of(folder):
    return json.loads((folder / "meta.json").read_bytes())["splits"]["train"]["tokens"]


def test_rows_of_one_length(records, tokenizer, tmp_path):
    flat = pack(records, tokenizer, tmp_path / "flat", output_format="npy", val="hash:10%")
    pack(records, tokenizer, tmp_path / "rows", output_format="npy", val="hash:10%", chunk_size=256)
    for name in flat.files:
        whole, rows = np.load(tmp_path / "flat" / name), np.load(tmp_path / "rows" / name)
        assert rows.shape == (len(whole) // 256, 256) and rows.flags.c_contiguous
        assert np.array_equal(rows.reshape(-1), whole[: rows.size])
    pack(records, tokenizer, tmp_path / "few", output_format="npy", chunk_size=256, max_chunks=3, val="hash:10%")
    assert np.array_equal(np.load(tmp_path / "few/train.npy"), np.load(tmp_path / "rows/train.npy")[:3])


def test_wide_ids(records, texts, tokenizer, tmp_path, monkeypatch):
    """More than 65,536 ids take four bytes; layouts with two refuse them."""

    def large(tok):
        content = vocabulary_metadata(tok)
        lengths = content["byte_lengths"] + [1] * (70_000 - 600)
        return {**content, "n_vocab": 70_000, "padded_vocab": 70_016, "byte_lengths": lengths}

    monkeypatch.setattr("slmtok.shards.run.vocabulary_metadata", large)
    monkeypatch.setattr("slmtok.shards.packing.vocabulary_metadata", large)
    pack(records, tokenizer, tmp_path / "slm", val="none")
    shards = open_shards(tmp_path / "slm")
    assert shards.document(0).dtype == np.uint32 and (tmp_path / "slm/train-00000.bin").stat().st_size % 4 == 0
    assert shards.document(0)[1:-1].tolist() == tokenizer.encode_list(
        "".join(tokenizer.decode(shards.document(0)[1:-1]))
    )
    pack(records, tokenizer, tmp_path / "npy", output_format="npy", val="none")
    assert np.load(tmp_path / "npy/train.npy").dtype == np.uint32
    for name in ("nanogpt", "llama2c", "llmc"):
        with pytest.raises(OptionError, match="two bytes per id"):
            pack(records, tokenizer, tmp_path / name, output_format=name, val="hash:10%")
        assert not (tmp_path / name).exists()


def test_refusals(records, tokenizer, tmp_path):
    with pytest.raises(OptionError, match="output_format='nano' is unknown"):
        pack(records, tokenizer, tmp_path / "d", output_format="nano")
    with pytest.raises(OptionError, match="which has no rows"):
        pack(records, tokenizer, tmp_path / "d", chunk_size=5)
    with pytest.raises(OptionError, match="validation documents, and there are none"):
        pack(records, tokenizer, tmp_path / "d", output_format="llama2c", val="none")
    assert not (tmp_path / "d").exists()
    pack(records, tokenizer, tmp_path / "n", output_format="nanogpt")
    with pytest.raises(OutputExists, match="already holds packed data"):
        pack(records, tokenizer, tmp_path / "n", output_format="nanogpt")
    before = (tmp_path / "n/train.bin").read_bytes()
    pack(records, tokenizer, tmp_path / "n", output_format="nanogpt", force=True)
    assert (tmp_path / "n/train.bin").read_bytes() == before


def test_other_files_are_not_overwritten(records, tokenizer, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/train.bin").write_bytes(b"mine")
    with pytest.raises(OutputExists, match=r"other files, such as 'train\.bin'"):
        pack(records, tokenizer, tmp_path / "d", output_format="nanogpt")
    assert (tmp_path / "d/train.bin").read_bytes() == b"mine"


def test_force_removes_earlier_output(records, tokenizer, tmp_path):
    def made(name, layout, *, force=True, **more):
        pack(records, tokenizer, tmp_path / name, output_format=layout, val="hash:30%", **more, force=force)
        return {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}

    fresh = {layout: made(f"fresh-{layout}", layout, force=False) for layout in ("slm", "llama2c", "npy")}
    many = made("a", "llama2c", shard_tokens=200)
    assert len(many) > len(fresh["llama2c"]) + 2
    (tmp_path / "a" / "mine.txt").write_bytes(b"mine")
    for layout in ("llama2c", "npy", "slm", "llama2c"):
        assert made("a", layout) == {**fresh[layout], "mine.txt": b"mine"}


def test_killed_before_the_work_folder_was_removed(records, tokenizer, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("slmtok.shards.packing._remove_work", lambda path: None)
        pack(records, tokenizer, tmp_path / "d", output_format="nanogpt")
    before = (tmp_path / "d/train.bin").read_bytes()
    assert (tmp_path / "d/meta.json").exists() and (tmp_path / "d/.packing").exists()
    pack(records, tokenizer, tmp_path / "d", output_format="nanogpt")
    assert not (tmp_path / "d/.packing").exists() and (tmp_path / "d/train.bin").read_bytes() == before


def test_a_stopped_conversion_resumes(records, tokenizer, tmp_path, monkeypatch):
    stop = lambda state: (_ for _ in ()).throw(KeyboardInterrupt)  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(folder, "replace", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pack(records, tokenizer, tmp_path / "d", output_format="nanogpt", on_progress=stop)
    pack(records, tokenizer, tmp_path / "d", output_format="nanogpt")
    assert (tmp_path / "d/meta.json").exists() and not (tmp_path / "d/.packing").exists()


def test_an_unfinished_run_of_shards_is_no_folder_of_other_files(records, tokenizer, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "check_in_place", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pack(records, tokenizer, tmp_path / "d")
    with pytest.raises(OutputExists, match="holds an unfinished run of pack") as caught:
        pack(records, tokenizer, tmp_path / "d", output_format="nanogpt")
    assert caught.value.limit == "begun with output_format='slm', now output_format='nanogpt'"
    assert caught.value.fix == "output_format='slm' continues it; or name another output"
    pack(records, tokenizer, tmp_path / "d", output_format="slm")


@pytest.mark.parametrize(("before", "after"), [("slm", "nanogpt"), ("nanogpt", "slm"), ("npy", "nanogpt")])
def test_force_removes_an_unfinished_run_of_another_layout(records, tokenizer, tmp_path, monkeypatch, before, after):
    out = tmp_path / "d"
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "check_in_place", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pack(records, tokenizer, out, output_format=before)
    (out / "mine.txt").write_bytes(b"mine")
    pack(records, tokenizer, out, output_format=after, force=True)
    pack(records, tokenizer, tmp_path / "fresh", output_format=after)
    fresh = {path.name for path in (tmp_path / "fresh").iterdir()}
    assert {path.name for path in out.iterdir()} == {*fresh, "mine.txt"}


def test_shards_do_not_begin_beside_an_unfinished_run_of_another_layout(records, tokenizer, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "check_in_place", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pack(records, tokenizer, tmp_path / "d", output_format="nanogpt")
    with pytest.raises(OutputExists, match="holds an unfinished run of pack") as caught:
        pack(records, tokenizer, tmp_path / "d")
    assert caught.value.fix == "force=True to replace it, or name another output"
    pack(records, tokenizer, tmp_path / "d", output_format="nanogpt")


@pytest.mark.parametrize("name", LAYOUTS)
def test_damaged_files_are_refused(tmp_path, name):
    path = tmp_path / "x.bin"
    path.write_bytes(b"abc")
    with pytest.raises((CorruptFile, CorruptShard)):
        LAYOUTS[name].read(path, False)
    if name == "llmc":
        path.write_bytes(struct.pack("<3i", 20240520, 1, 9).ljust(1024, b"\0"))
        with pytest.raises(CorruptFile, match="9 ids in the header"):
            LAYOUTS[name].read(path, False)
    if name == "npy":
        np.save(tmp_path / "f.npy", np.zeros(3))
        with pytest.raises(CorruptFile, match="float64"):
            LAYOUTS[name].read(tmp_path / "f.npy", False)


@pytest.mark.filterwarnings("error")
def test_hostile_arrays_are_refused(tmp_path):
    archive, odd = tmp_path / "archive.npy", tmp_path / "odd.npy"
    with archive.open("wb") as file:
        np.savez(file, ids=np.arange(3))
    with pytest.raises(CorruptFile, match="it is an archive of arrays"):
        LAYOUTS["npy"].read(archive, False)
    for shape in ("(99999999999999999999,)", "(True,)", "(4294967296,4294967296)", "(-3,)"):
        header = f"{{'descr':'<u2','fortran_order':False,'shape':{shape}}}".ljust(117).encode() + b"\n"
        odd.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(16))
        with pytest.raises(CorruptFile, match="it is truncated or damaged"):
            LAYOUTS["npy"].read(odd, False)
