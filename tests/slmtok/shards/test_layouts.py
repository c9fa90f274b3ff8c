"""Other people's layouts: each is written from the same documents and read back as the same ids."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from slmtok.errors import CorruptFile, CorruptShard, OptionError, OutputExists, UnknownName
from slmtok.shards import folder, pack
from slmtok.shards.format import FRAMES, vocabulary_metadata
from slmtok.shards.layouts import LAYOUTS
from slmtok.shards.target import Target
from slmtok.shards.token_files import documents


def ids_of(texts, tokenizer, frame):
    begin, end = FRAMES[frame]
    return [[1] * begin + tokenizer.encode_list(text) + [2] * end for text in texts]


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_comes_back(records, texts, tokenizer, tmp_path, name):
    layout = LAYOUTS[name]
    packed = Target(out=tmp_path / "d", layout=name, shard_tokens=9000, val="tail:10%").pack(records, tokenizer)
    assert packed.manifest["frame"] == layout.frame
    assert sorted(path.name for path in (tmp_path / "d").iterdir() if path.suffix in (".bin", ".npy")) == sorted(
        packed.files
    )
    wanted = [token for ids in ids_of(texts, tokenizer, layout.frame) for token in ids]
    files = packed.files[1:] + packed.files[:1] if name == "llama2c" else packed.files
    rows = [layout.read(tmp_path / "d" / file, False) for file in files]
    assert np.concatenate(rows).tolist() == wanted
    assert not (tmp_path / "d/.packing").exists()


@pytest.mark.parametrize("name", LAYOUTS)
def test_documents_are_found_by_their_frame(records, texts, tokenizer, tmp_path, name):
    packed = Target(out=tmp_path / "d", layout=name, val="hash:50%").pack(records, tokenizer)
    lengths = tokenizer.byte_lengths()
    frame = LAYOUTS[name].frame
    found = [
        document
        for file in packed.files
        for document in documents(tmp_path / "d" / file, name, frame=frame, bos=1, eos=2, byte_lengths=lengths)
    ]
    assert sorted(ids.tolist() for ids, _ in found) == sorted(ids_of(texts, tokenizer, frame))
    assert sorted(size for _, size in found) == sorted(len(text.encode()) for text in texts)


def test_what_each_file_begins_with(records, texts, tokenizer, tmp_path):
    for name in LAYOUTS:
        Target(out=tmp_path / name, layout=name, val="hash:10%").pack(records, tokenizer)
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
    flat = Target(out=tmp_path / "flat", layout="npy", val="hash:10%").pack(records, tokenizer)
    Target(out=tmp_path / "rows", layout="npy", val="hash:10%", chunk_size=256).pack(records, tokenizer)
    for name in flat.files:
        whole, rows = np.load(tmp_path / "flat" / name), np.load(tmp_path / "rows" / name)
        assert rows.shape == (len(whole) // 256, 256) and rows.flags.c_contiguous
        assert np.array_equal(rows.reshape(-1), whole[: rows.size])
    Target(out=tmp_path / "few", layout="npy", chunk_size=256, max_chunks=3, val="hash:10%").pack(records, tokenizer)
    assert np.array_equal(np.load(tmp_path / "few/train.npy"), np.load(tmp_path / "rows/train.npy")[:3])


def test_wide_ids(records, texts, tokenizer, tmp_path, monkeypatch):
    """More than 65,536 ids take four bytes; layouts with two refuse them."""

    def large(tok):
        content = vocabulary_metadata(tok)
        lengths = content["byte_lengths"] + [1] * (70_000 - 600)
        return {**content, "n_vocab": 70_000, "padded_vocab": 70_016, "byte_lengths": lengths}

    monkeypatch.setattr("slmtok.shards.packing.vocabulary_metadata", large)
    shards = pack(records, tokenizer, tmp_path / "slm", val="none")
    assert shards.document(0).dtype == np.uint32 and (tmp_path / "slm/train-00000.bin").stat().st_size % 4 == 0
    assert shards.document(0)[1:-1].tolist() == tokenizer.encode_list(
        "".join(tokenizer.decode(shards.document(0)[1:-1]))
    )
    Target(out=tmp_path / "npy", layout="npy", val="none").pack(records, tokenizer)
    assert np.load(tmp_path / "npy/train.npy").dtype == np.uint32
    for name in ("nanogpt", "llama2c", "llmc"):
        with pytest.raises(OptionError, match="two bytes per id"):
            Target(out=tmp_path / name, layout=name, val="hash:10%").pack(records, tokenizer)
    monkeypatch.setattr("slmtok.shards.target.vocabulary_metadata", large)
    with pytest.raises(OptionError, match="two bytes per id"):
        Target(out=tmp_path / "early", layout="nanogpt").pack(records, tokenizer)
    assert not (tmp_path / "early").exists()


def test_refusals(records, tokenizer, tmp_path):
    with pytest.raises(UnknownName, match="layout 'nano'"):
        Target(out=tmp_path / "d", layout="nano")
    with pytest.raises(OptionError, match="makes rows"):
        Target(out=tmp_path / "d", chunk_size=5)
    with pytest.raises(OptionError, match="validation documents, and there are none"):
        Target(out=tmp_path / "d", layout="llama2c", val="none").pack(records, tokenizer)
    assert not (tmp_path / "d").exists()
    Target(out=tmp_path / "n", layout="nanogpt").pack(records, tokenizer)
    with pytest.raises(OutputExists, match="already holds packed data"):
        Target(out=tmp_path / "n", layout="nanogpt").pack(records, tokenizer)
    before = (tmp_path / "n/train.bin").read_bytes()
    Target(out=tmp_path / "n", layout="nanogpt").pack(records, tokenizer, force=True)
    assert (tmp_path / "n/train.bin").read_bytes() == before


def test_files_of_others_are_not_overwritten(records, tokenizer, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/train.bin").write_bytes(b"mine")
    with pytest.raises(OutputExists, match=r"other files, such as 'train\.bin'"):
        Target(out=tmp_path / "d", layout="nanogpt").pack(records, tokenizer)
    assert (tmp_path / "d/train.bin").read_bytes() == b"mine"


def test_force_leaves_nothing_of_what_was_there(records, tokenizer, tmp_path):
    def made(name, layout, *, force=True, **more):
        Target(out=tmp_path / name, layout=layout, val="hash:30%", **more).pack(records, tokenizer, force=force)
        return {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}

    fresh = {layout: made(f"fresh-{layout}", layout, force=False) for layout in ("slm", "llama2c", "npy")}
    many = made("a", "llama2c", shard_tokens=200)
    assert len(many) > len(fresh["llama2c"]) + 2
    (tmp_path / "a" / "mine.txt").write_bytes(b"mine")
    for layout in ("llama2c", "npy", "slm", "llama2c"):
        assert made("a", layout) == {**fresh[layout], "mine.txt": b"mine"}


def test_killed_before_it_was_tidy(records, tokenizer, tmp_path, monkeypatch):
    target = Target(out=tmp_path / "d", layout="nanogpt")
    with monkeypatch.context() as patch:
        patch.setattr("slmtok.shards.target.shutil.rmtree", lambda path, **options: None)
        target.pack(records, tokenizer)
    before = (tmp_path / "d/train.bin").read_bytes()
    assert (tmp_path / "d/meta.json").exists() and (tmp_path / "d/.packing").exists()
    target.pack(records, tokenizer)
    assert not (tmp_path / "d/.packing").exists() and (tmp_path / "d/train.bin").read_bytes() == before


def test_a_stopped_conversion_goes_on(records, tokenizer, tmp_path, monkeypatch):
    target = Target(out=tmp_path / "d", layout="nanogpt")
    with monkeypatch.context() as patch:
        patch.setattr(folder, "replace", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            target.pack(records, tokenizer, on_progress=lambda state: (_ for _ in ()).throw(KeyboardInterrupt))
    target.pack(records, tokenizer)
    assert (tmp_path / "d/meta.json").exists() and not (tmp_path / "d/.packing").exists()


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
