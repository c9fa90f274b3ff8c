"""Folders and files of other layouts read as documents, and document bounds against a plain loop."""

from __future__ import annotations

import json
import struct
from itertools import pairwise

import numpy as np
import pytest

import slmtok
from slmtok.errors import CorruptFile, CorruptShard, OptionError, UnsupportedVersion
from slmtok.shards import pack
from slmtok.shards.check import check_token_files
from slmtok.shards.layouts import LAYOUTS
from slmtok.shards.token_files import Delimiter, document_bounds, open_token_files

OTHERS = [name for name in LAYOUTS if name != "slm"]


def slow_documents(ids, cut):
    found, row = [], []
    for token in ids:
        if cut and cut.begins and token == cut.id and row:
            found.append(row)
            row = []
        row.append(token)
        if cut and not cut.begins and token == cut.id:
            found.append(row)
            row = []
    return found + ([row] if row else [])


@pytest.mark.parametrize("cut", [None, Delimiter(1, True), Delimiter(1, False)])
def test_bounds_equal_the_plain_loop(cut, monkeypatch):
    monkeypatch.setattr("slmtok.shards.token_files._SEARCH_IDS", 3)
    for number in range(3**6):
        for length in range(7):
            ids = np.array([number // 3**at % 3 for at in range(length)], np.uint16)
            bounds = document_bounds(ids, cut).tolist()
            rows = [ids[a:b].tolist() for a, b in pairwise(bounds)]
            assert rows == slow_documents(ids.tolist(), cut)


@pytest.fixture(scope="module", params=OTHERS)
def made(request, records, tokenizer, tmp_path_factory):
    """A folder of each layout."""
    out = tmp_path_factory.mktemp("made") / request.param
    pack(records, tokenizer, out, output_format=request.param, val="hash:30%", shard_tokens=9000)
    return out


def test_documents_come_back(made, texts, tokenizer):
    found = open_token_files(made)
    rows = [found.documents(split, tokenizer) for split in found.splits]
    decoded = [tokenizer.decode(row[index], errors="strict") for row in rows for index in range(len(row))]
    stripped = [text.removeprefix("<s>").removesuffix("</s>") for text in decoded]
    assert sorted(stripped) == sorted(texts) and found.splits == ["train", "val"]
    assert found.fingerprint == tokenizer.fingerprint
    with pytest.raises(IndexError, match="document 9000 of"):
        rows[0][9000]


def test_valid_files_pass(made):
    summary = check_token_files(open_token_files(made), deep=True)
    assert summary.count("decoded and hashed") == 2 and made.name in summary
    one = next(path for path in sorted(made.iterdir()) if path.suffix in (".bin", ".npy"))
    assert "ids for" in check_token_files(open_token_files(one))


def copy(made, tmp_path):
    folder = tmp_path / made.name
    folder.mkdir()
    for path in made.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder, json.loads((folder / "meta.json").read_bytes())


def test_every_change_is_detected(made, tmp_path):
    folder, meta = copy(made, tmp_path)
    path = folder / meta["files"][-1]
    data = bytearray(path.read_bytes())
    data[-2] ^= 3
    path.write_bytes(data)
    with pytest.raises(CorruptFile, match="sha256"):
        check_token_files(open_token_files(folder))
    # Without digests of files, the documents are compared.
    del meta["sha256"]
    (folder / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(CorruptFile, match=r"documents|lacks the delimiters|holds id"):
        check_token_files(open_token_files(folder), deep=True)
    path.unlink()
    with pytest.raises(CorruptFile, match="it is missing"):
        open_token_files(folder)


def test_another_tokenizer_in_the_folder(made, tmp_path, tokenizer):
    folder, _ = copy(made, tmp_path)
    slmtok.slice(tokenizer, 500).save(folder / "other.json")
    (folder / "tok.json").write_bytes((folder / "other.json").read_bytes())
    with pytest.raises(CorruptShard, match="its fingerprint"):
        check_token_files(open_token_files(folder))
    (folder / "tok.json").write_bytes(tokenizer.to_bytes())
    (folder / "vocab.json").unlink()
    with pytest.raises(CorruptShard, match=r"vocab\.json is missing"):
        check_token_files(open_token_files(folder))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layout", ["x"]),
        ("frame", "x"),
        ("files", ["../x.bin"]),
        ("sha256", {"x": "y"}),
        ("splits", {"train": {"docs": -1}}),
        ("splits", {"test": {}}),
        ("fingerprint", "abc"),
        ("chunk_size", 0),
        ("n_vocab", "600"),
    ],
)
def test_an_invalid_meta_json(made, tmp_path, key, value):
    folder, meta = copy(made, tmp_path)
    (folder / "meta.json").write_text(json.dumps({**meta, key: value}))
    with pytest.raises(CorruptFile, match=f"{key}[.0-9a-z]*(\\[0\\])? (is|has)|'{key}[.a-z]*'"):
        open_token_files(folder)
    (folder / "meta.json").write_text(json.dumps({**meta, "version": 2}))
    with pytest.raises(UnsupportedVersion, match="version 2"):
        open_token_files(folder)


def test_files_of_other_programs(tmp_path, tokenizer, texts):
    """Without meta.json the first id decides whether a special begins documents."""
    rows = [tokenizer.encode_list(text) for text in texts[:9]]
    behind = [token for row in rows for token in [*row, 2]]
    before = [token for row in rows for token in [2, *row]]
    (tmp_path / "nano").mkdir()
    np.array(behind, np.uint16).tofile(tmp_path / "nano/train.bin")
    np.array(behind, np.uint16).tofile(tmp_path / "nano/val.bin")
    (tmp_path / "nano/meta.pkl").write_bytes(b"never opened")
    (tmp_path / "web").mkdir()
    header = struct.pack("<3i", 20240520, 1, len(before)).ljust(1024, b"\0")
    (tmp_path / "web/fineweb_val_000000.bin").write_bytes(header + np.array(before, np.uint16).tobytes())
    (tmp_path / "edu").mkdir()
    np.save(tmp_path / "edu/edufineweb_train_000001.npy", np.array(before, np.uint16))
    for name, layout, split in (("nano", "nanogpt", "train"), ("web", "llmc", "val"), ("edu", "npy", "train")):
        found = open_token_files(tmp_path / name)
        assert (found.layout, found.meta, found.fingerprint) == (layout, None, None)
        documents = found.documents(split, tokenizer)
        assert [tokenizer.decode(documents[at], skip_special=True) for at in range(len(documents))] == texts[:9]
        assert "nothing to compare with" in check_token_files(found)
    with pytest.raises(OptionError, match="has no file"):
        open_token_files(tmp_path / "edu").arrays("val")


def test_other_files_are_not_recognised(tmp_path, records):
    assert open_token_files(records) is None and open_token_files(tmp_path) is None
    (tmp_path / "model.bin").write_bytes(b"\0" * 100)
    assert open_token_files(tmp_path) is None and open_token_files(tmp_path / "model.bin") is None
    (tmp_path / "train.bin").write_bytes(b"\0" * 100)
    np.save(tmp_path / "val.npy", np.zeros(3, np.uint16))
    with pytest.raises(CorruptFile, match="several layouts: nanogpt, npy"):
        open_token_files(tmp_path)
