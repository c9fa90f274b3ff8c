"""Reading shards: what was written is read back, and each fault is refused by file and field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_shards as made
import numpy as np
import pytest

from slmmodel.data import open_source
from slmmodel.data.source import DocumentBlock, NoSuchBlockError, TokenSource
from slmmodel.errors import CorruptFile, Mismatch, MissingInput, SlmmodelError, UnsupportedFormat

DOCS = made.documents([5, 0, 40, 1, 7])
SPLITS = {"train": [DOCS[:3], DOCS[3:]], "val": [made.documents([4], seed=1)]}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return made.write_data(tmp_path / "data", SPLITS)


def test_what_was_written_is_read_back(data: Path) -> None:
    source = open_source(data, "train")
    assert isinstance(source, TokenSource)
    block = source.block(0)
    assert isinstance(block, DocumentBlock)
    assert block.lengths().tolist() == [len(doc) for doc in DOCS]
    assert block.nbytes().tolist() == [made.raw_bytes(doc) for doc in DOCS]
    for doc, ids in enumerate(DOCS):
        assert block.ids(doc, 0, len(ids)).tolist() == ids
        assert block.ids(doc, 1, 3).tolist() == ids[1:3]
        assert block.ids(doc, 0, 10**6).tolist() == ids
    assert open_source(data, "val").n_docs == 1
    assert source.digest != open_source(data, "val").digest
    assert source.domains() is None
    with pytest.raises(NoSuchBlockError):
        source.block(1)


@pytest.mark.parametrize(("flags", "opening", "closing"), [(1, 1, 1), (2, 2, 2), (0, 1, 2)])
def test_delimiters_that_are_not_stored_are_added(tmp_path: Path, flags: int, opening: int, closing: int) -> None:
    block = open_source(made.write_data(tmp_path, SPLITS, flags=flags), "train").block(0)
    assert block.lengths().tolist() == [len(doc) for doc in DOCS]
    for doc, ids in enumerate(DOCS):
        whole = [opening, *ids[1:-1], closing]
        for lo in range(len(ids) + 1):
            for hi in range(lo, len(ids) + 2):
                assert block.ids(doc, lo, hi).tolist() == whole[lo:hi], (doc, lo, hi)


def test_domains(data: Path) -> None:
    name_domains(data, {"train-00000": [0, 1, 0], "train-00001": [1, 1], "val-00000": [0]})
    found = open_source(data, "train").domains()
    assert found is not None and found.tolist() == [0, 1, 0, 1, 1]


def test_no_documents(tmp_path: Path) -> None:
    source = open_source(made.write_data(tmp_path, {"train": [[]]}), "train")
    assert (source.n_docs, source.lengths().tolist()) == (0, [])


def falsify(path: Path, start: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[start : start + len(data)] = data
    path.write_bytes(content)


def edit_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def edit_shard(folder: Path, number: int, **changes: Any) -> None:
    """Changes the entry of a shard, and the totals with it."""
    entries = json.loads((folder / "manifest.json").read_text())["shards"]
    entries[number] |= changes
    (folder / "manifest.json").write_text(json.dumps(made.manifest(entries)))


def name_domains(folder: Path, domains: dict[str, list[int]]) -> None:
    """Adds the `.dom` file of each shard to the folder."""
    entries = json.loads((folder / "manifest.json").read_text())["shards"]
    for entry in entries:
        (folder / f"{entry['name']}.dom").write_bytes(np.array(domains[entry["name"]], "<u2").tobytes())
        entry["sha256"]["dom"] = "00" * 32
    (folder / "manifest.json").write_text(json.dumps(made.manifest(entries, ["a", "b"])))


FAULTS: list[tuple[Callable[[Path], object], type[SlmmodelError], str]] = [
    (lambda d: (d / "manifest.json").unlink(), MissingInput, r"not finished token data"),
    (lambda d: (d / "manifest.json").write_text("{"), CorruptFile, r"manifest.json is not JSON"),
    (
        lambda d: falsify(d / "manifest.json", 0, b"\xef\xbb\xbf" + (d / "manifest.json").read_bytes()),
        CorruptFile,
        r"manifest.json begins with a byte order mark",
    ),
    (
        lambda d: (d / "manifest.json").write_bytes((d / "manifest.json").read_text().encode("utf-16-le")),
        CorruptFile,
        r"manifest.json is not JSON",
    ),
    (lambda d: edit_manifest(d, lambda m: m.update(format="x")), CorruptFile, r"manifest.json has format 'x'"),
    (lambda d: edit_manifest(d, lambda m: m.update(version=2)), UnsupportedFormat, r"manifest.json has version 2"),
    (
        lambda d: edit_manifest(d, lambda m: m["shards"][0].pop("sha256")),
        CorruptFile,
        r"lacks the key 'shards.0.sha256'",
    ),
    (
        lambda d: edit_manifest(d, lambda m: m.update(fingerprint="cd" * 32)),
        Mismatch,
        r"different tokenizers",
    ),
    (lambda d: edit_shard(d, 1, tokens=1), CorruptFile, r"00001.bin has tokens"),
    (lambda d: edit_shard(d, 0, docs=9), CorruptFile, r"00000.bin has docs 3"),
    (lambda d: edit_shard(d, 0, bytes=9), CorruptFile, r"00000.bin has bytes"),
    (lambda d: (d / "train-00001.bin").unlink(), MissingInput, r"train-00001.bin"),
    (lambda d: (d / "train-00001.off").unlink(), MissingInput, r"train-00001.off"),
    (lambda d: falsify(d / "train-00000.bin", 0, b"X"), CorruptFile, r"is not a token shard"),
    (lambda d: falsify(d / "train-00000.bin", 8, b"\2"), UnsupportedFormat, r"has version 2"),
    (lambda d: falsify(d / "train-00000.bin", 12, b"\4"), CorruptFile, r"has width 4, expected 2"),
    (lambda d: falsify(d / "train-00000.bin", 40, b"\2"), CorruptFile, r"n_vocab"),
    (lambda d: falsify(d / "train-00000.bin", 44, b"\7"), CorruptFile, r"unknown flags 0x7"),
    (
        lambda d: falsify(d / "train-00001.bin", 44, b"\1"),
        CorruptFile,
        r"00001.bin has flags 1, the manifest",
    ),
    (lambda d: falsify(d / "train-00000.bin", 48, b"\0"), Mismatch, r"different tokenizers"),
    (lambda d: falsify(d / "train-00000.bin", 80, b"\5"), CorruptFile, r"has number 5, expected 0"),
    (lambda d: falsify(d / "train-00000.bin", 2000, b"\1"), CorruptFile, r"after the header's fields"),
    (lambda d: falsify(d / "train-00000.bin", 4095, b"\0\0\0\0"), CorruptFile, r"begin its document 0 with id 1"),
    (lambda d: falsify(d / "train-00000.bin", 4096 + 12, b"\5"), CorruptFile, r"end its document 0 with id 2"),
    (lambda d: falsify(d / "train-00000.bin", 4100, b"\xff\xff"), CorruptFile, r"id 65535 at 2; n_vocab is 300"),
    (lambda d: falsify(d / "train-00000.off", 0, b"\1"), CorruptFile, r"does not run from 0"),
    (lambda d: falsify(d / "train-00000.off", 8, b"\x50"), CorruptFile, r"document 1 fewer than 2 ids"),
    (lambda d: falsify(d / "train-00000.off", 8, b"\xff" * 8), CorruptFile, r"document 1 fewer than 2 ids"),
    (lambda d: falsify(d / "train-00000.nb", 0, b"\0\1"), CorruptFile, r"sums to"),
    (lambda d: (d / "train-00000.nb").write_bytes(b""), CorruptFile, r"has 0 bytes, expected 24"),
    (
        lambda d: name_domains(d, {"train-00000": [1], "train-00001": [1, 1], "val-00000": [0]}),
        CorruptFile,
        r"train-00000.dom has 2 bytes, expected 6",
    ),
]


def test_a_folder_of_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat sat.")
    with pytest.raises(
        MissingInput, match=r"holds no token data: it has no manifest.json, and files such as 'a.txt'"
    ) as caught:
        open_source(tmp_path, "train")
    assert str(caught.value.fix).startswith(f"slmtok pack {tmp_path} -t TOK -o DATA")


@pytest.mark.parametrize(("spoil", "error", "match"), FAULTS, ids=[match for _, _, match in FAULTS])
def test_each_fault_is_refused(
    data: Path, spoil: Callable[[Path], object], error: type[SlmmodelError], match: str
) -> None:
    spoil(data)
    with pytest.raises(error, match=match) as caught:
        open_source(data, "train").ids(0, 0, 2)
    assert caught.value.fix


def test_a_missing_split(data: Path) -> None:
    with pytest.raises(MissingInput, match="no split 'test'") as caught:
        open_source(data, "test")
    assert caught.value.limit == "splits: train, val"


def test_delimiters_need_a_role(tmp_path: Path) -> None:
    made.write_data(tmp_path, SPLITS)
    nbytes = [1, *made.NBYTES[1:]]
    (tmp_path / "vocab.json").write_bytes(made.vocab_json(specials={}, byte_lengths=nbytes))
    with pytest.raises(UnsupportedFormat, match="neither the role"):
        open_source(tmp_path, "train")
