"""Saving and loading: equal bytes after a round trip; a failure leaves no file."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

import pytest

import slmtok
from slmtok import atomic, errors


def test_save_and_load(tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tok.json"
    tok.save(path)
    again = slmtok.load(path)
    assert again == tok
    assert again.to_bytes() == path.read_bytes() == slmtok.load(path, verify=False).to_bytes()
    assert again.options == tok.options
    assert again.provenance == tok.provenance
    assert path.read_bytes().endswith(b'"}\n')


def test_a_file_without_golden_vectors_is_not_copied_onto_itself(tok: slmtok.Tokenizer, tmp_path: Path) -> None:
    before, _, rest = tok.to_bytes().partition(b'"golden":[')
    body = before + b'"golden":[],\n' + rest[rest.index(b'"fingerprint"') :]
    head = body[: body.rindex(b'"sha256"')]
    path = tmp_path / "tok.json"
    path.write_bytes(head + b'"sha256":"' + hashlib.sha256(head).hexdigest().encode() + b'"}\n')
    with pytest.raises(errors.CorruptFile, match="it has no golden vectors") as caught:
        slmtok.load(path)
    assert caught.value.fix == "restore the file from where it was made, or make it again"


def test_existing_output_is_kept(bpe: slmtok.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tok.json"
    path.write_text("mine")
    with pytest.raises(errors.OutputExists, match="force=True"):
        bpe.save(path)
    assert path.read_text() == "mine"
    bpe.save(path, force=True)
    assert slmtok.load(path) == bpe
    with pytest.raises(errors.OutputExists, match="is a folder"):
        bpe.save(tmp_path, force=True)
    with pytest.raises(errors.MissingInput, match="no folder"):
        bpe.save(tmp_path / "no" / "tok.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["tok.json"]


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, errors.DiskFull), (errno.EIO, errors.Unreadable)], ids=["full", "broken"]
)
def test_failed_write_leaves_nothing(tmp_path: Path, number: int, kind: type[errors.SlmtokError]) -> None:
    old = tmp_path / "old.bin"
    old.write_text("old")
    with pytest.raises(kind), atomic.outputs(tmp_path / "new.bin", old, force=True) as (first, second):
        first.write_text("half")
        second.write_text("half")
        raise OSError(number, "the disk")
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.bin"]
    assert old.read_text() == "old"


def test_interrupt_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), atomic.outputs(tmp_path / "new.bin") as (part,):
        part.write_text("half")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_output_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "new.bin"
    with pytest.raises(errors.OutputExists), atomic.outputs(target) as (part,):
        part.write_text("ours")
        target.write_text("theirs")
    assert target.read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 1


def test_no_clock_no_path_in_the_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "corpus.txt").write_text("the cat and the hat " * 50)
    files = [slmtok.train(tmp_path / name / "corpus.txt", vocab_size=280).to_bytes() for name in ("a", "b")]
    assert files[0] == files[1]
    assert b"corpus.txt" not in files[0]
