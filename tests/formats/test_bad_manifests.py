"""Bad manifests and folders, one table for both readers of token shards: slmtok and slmmodel refuse each of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slmmodel.data import open_data, open_source
from slmmodel.errors import SlmmodelError
from slmtok.errors import SlmtokError
from slmtok.shards import open_shards
from slmtok.shards.check import check

GOLDEN = Path(__file__).parent / "golden-shards"
Manifest = dict[str, Any]

READERS: dict[str, tuple[Callable[[Path], Any], type[Exception]]] = {
    "slmtok": (lambda folder: open_shards(folder), SlmtokError),
    "slmmodel": (lambda folder: open_source(folder, "train"), SlmmodelError),
}

PATHS = [
    "../elsewhere/train-00000",
    "/elsewhere/train-00000",
    "./train-00000",
    "train-00000/",
    "..",
    "",
    "train-00001",
    "x\0",
]
VALUES = [None, True, -1, 1.5, 1 << 63, 1 << 80, "7", [], {}, "ab", [[[[[[[[[]]]]]]]]]]


def entry(**changes: Any) -> Callable[[Manifest], object]:
    return lambda m: m["shards"][0].update(changes)


BAD: dict[str, Callable[[Manifest], object]] = {
    **{f"name {path!r}": entry(name=path) for path in PATHS},
    **{f"docs {value!r}": entry(docs=value) for value in VALUES},
    **{f"split {value!r}": entry(split=value) for value in ("val", "test", "../x", None)},
    **{f"sha256 {value!r}": entry(sha256=value) for value in ({}, {"bin": "00" * 32}, None, "x")},
    **{f"n_vocab {value!r}": lambda m, value=value: m.update(n_vocab=value) for value in (0, 1 << 24, "276", None)},
    **{f"frame {value!r}": lambda m, value=value: m.update(frame=value) for value in ("x", [], None, "bos")},
    **{f"without {key}": lambda m, key=key: m.pop(key) for key in json.loads((GOLDEN / "manifest.json").read_bytes())},
    "an unknown key": lambda m: m.update(extra=1),
    "an unknown key of a shard": entry(extra=1),
    "a file of another kind": lambda m: m["shards"][0]["sha256"].update({"../../exe": "00" * 32}),
    "a sum that is no digest": lambda m: m["shards"][0]["sha256"].update(bin="g" * 64),
    "shards that are no list": lambda m: m.update(shards={}),
    "a shard that is no object": lambda m: m["shards"].append(7),
    "a shard twice": lambda m: m["shards"].append(m["shards"][0]),
    "a shard less": lambda m: m["shards"].pop(0),
    "shards out of order": lambda m: m["shards"].reverse(),
    "totals of the split": lambda m: m["splits"]["train"].update(tokens=1),
    "digest of the split": lambda m: m["splits"]["train"].update(digest="00" * 32),
    "digest of all": lambda m: m.update(digest="00" * 32),
    "another dtype": lambda m: m.update(dtype="u32"),
    "domains that are no list": lambda m: m.update(domains="plain"),
    "version 2": lambda m: m.update(version=2),
    "version true": lambda m: m.update(version=True),
    "another format": lambda m: m.update(format="x"),
    "another fingerprint": lambda m: m.update(fingerprint="00" * 32),
    "deep": lambda m: m["plan"].update(options=json.loads("[" * 900 + "]" * 900)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN, tmp_path / "data"))


@pytest.mark.parametrize("reader", READERS)
def test_the_golden_folder_is_read(reader: str, folder: Path) -> None:
    READERS[reader][0](folder)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("fault", BAD)
def test_bad_manifests_are_refused(reader: str, fault: str, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    BAD[fault](manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    refused(reader, folder)


def refused(reader: str, folder: Path) -> None:
    read, error = READERS[reader]
    with pytest.raises(error) as caught:
        read(folder)
    assert str(folder) in str(caught.value) and caught.value.fix  # type: ignore[attr-defined]


TEXTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "torn": lambda data: data[: len(data) // 2],
    "a list": lambda data: b"[" + data + b"]",
    "a key twice": lambda data: data.replace(b'"version": 1', b'"version": 1, "version": 1', 1),
    "NaN": lambda data: data.replace(b'"skipped": 0', b'"skipped": NaN'),
    "not UTF-8": lambda data: data.replace(b'"plain"', b'"\xff"'),
    "brackets without end": lambda data: b"[" * 100_000,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("fault", TEXTS)
def test_bad_text_is_refused(reader: str, fault: str, folder: Path) -> None:
    path = folder / "manifest.json"
    changed = TEXTS[fault](path.read_bytes())
    assert changed != path.read_bytes()
    path.write_bytes(changed)
    refused(reader, folder)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["manifest.json", "train-00000.bin", "train-00000.nb", "train-00000.dom"])
@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_links_out_of_the_folder_pipes_and_devices_are_refused(
    reader: str, name: str, kind: str, folder: Path, tmp_path: Path
) -> None:
    """Each of them would read what is not packed data, or wait for ever."""
    (folder / name).replace(tmp_path / name)
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(tmp_path / name if kind == "link" else "/dev/zero")
    refused(reader, folder)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("name", ["tok.json", "vocab.json"])
@pytest.mark.parametrize(("read", "error"), [(check, SlmtokError), (open_data, SlmmodelError)])
def test_a_tokenizer_out_of_the_folder_is_refused(
    read: Callable[[Any], object], error: type[Exception], name: str, folder: Path, tmp_path: Path
) -> None:
    """A run gets copies of both files: behind a link they may be any file of the machine."""
    read(str(folder))
    (folder / name).replace(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    with pytest.raises(error, match="symbolic link out of its folder"):
        read(str(folder))


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("reader", READERS)
def test_links_within_the_folder_and_to_the_folder_are_followed(reader: str, folder: Path, tmp_path: Path) -> None:
    (folder / "train-00000.bin").rename(folder / "kept")
    (folder / "train-00000.bin").symlink_to("kept")
    (tmp_path / "link").symlink_to(folder)
    READERS[reader][0](tmp_path / "link")


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("reader", READERS)
def test_the_fix_for_a_link_out_of_the_folder_works(reader: str, folder: Path, tmp_path: Path) -> None:
    spaced = folder.rename(tmp_path / "my data")
    (spaced / "train-00000.bin").replace(tmp_path / "a shard")
    (spaced / "train-00000.bin").symlink_to(tmp_path / "a shard")
    read, error = READERS[reader]
    with pytest.raises(error) as caught:
        read(spaced)
    subprocess.run(caught.value.fix.partition(": ")[2], shell=True, check=True)  # type: ignore[attr-defined]
    read(spaced)
    assert not (spaced / "train-00000.bin").is_symlink() and (tmp_path / "a shard").exists()


def cached(folder: Path, tmp_path: Path, below: str) -> Path:
    """The folder as `huggingface_hub` caches it: each file of a snapshot is a link into `blobs`."""
    repository = tmp_path / "hub" / "datasets--me--data"
    snapshot = repository / "snapshots" / "5f1b" / below
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for file in sorted(folder.iterdir()):
        file.rename(repository / "blobs" / f"blob of {file.name}")
        (snapshot / file.name).symlink_to(os.path.relpath(repository / "blobs" / f"blob of {file.name}", snapshot))
    return snapshot


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("below", ["", "data/packed"])
def test_a_folder_in_the_cache_of_hugging_face_is_read(reader: str, below: str, folder: Path, tmp_path: Path) -> None:
    READERS[reader][0](cached(folder, tmp_path, below))


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("reader", READERS)
def test_a_cache_has_no_links_to_other_places(reader: str, folder: Path, tmp_path: Path) -> None:
    snapshot = cached(folder, tmp_path, "")
    blobs = snapshot.parents[1] / "blobs"
    blobs.rename(tmp_path / "elsewhere")
    blobs.symlink_to(tmp_path / "elsewhere")
    refused(reader, snapshot)
