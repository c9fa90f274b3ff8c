"""Files of slmtok are no corpus, unless their bytes are meant as text."""

from __future__ import annotations

import pytest


@pytest.fixture
def made(slmtok, corpus):
    """A tokenizer with its lock, and packed data in two layouts."""
    slmtok("train", corpus, "--vocab", "300", "-o", "tok.json")
    slmtok("pack", corpus, "-t", "tok.json", "-o", "data", "--val", "none")
    slmtok("pack", corpus, "-t", "tok.json", "-o", "nano", "--output-format", "nanogpt", "--val", "none")


def test_our_own_files_are_no_corpus(slmtok, made):
    kinds = {
        "tok.json": "a tokenizer file",
        "tok.lock": "the lock of a tokenizer",
        "data/train-00000.bin": "a shard of packed data",
        "data/manifest.json": "the manifest of packed data",
        "nano/meta.json": "the metadata of packed data",
        "data": "the manifest of packed data",
    }
    for path, told in kinds.items():
        ran = slmtok("count", path, "-o", "out.counts")
        assert ran.code == 2 and f"is {told} of slmtok, not text" in ran.err and "fix:" in ran.err, path
    for command in (["train", "--vocab", "300"], ["pack", "-t", "tok.json"], ["extend", "tok.json", "--vocab", "400"]):
        ran = slmtok(*command, "tok.json", "-o", "out")
        assert ran.code == 2 and "slmtok slice makes a smaller one" in ran.err, command
    assert slmtok("count", "tok.json", "--format", "text", "-o", "out.counts").code == 0


def test_a_folder_with_a_tokenizer_beside_the_text(slmtok, corpus, tmp_path):
    (tmp_path / "texts").mkdir()
    corpus.rename(tmp_path / "texts" / "corpus.txt")
    assert slmtok("train", "texts", "--vocab", "300", "-o", "texts/tok.json").code == 0
    ran = slmtok("count", "texts", "-o", "out.counts")
    assert ran.code == 2 and "--exclude 'tok.json' leaves it out" in ran.err
    (tmp_path / "texts" / "other.json").write_text('{"format": "mine", "text": "x"}')
    assert slmtok("count", "texts", "--exclude", "tok.*", "-o", "out.counts").code == 0
