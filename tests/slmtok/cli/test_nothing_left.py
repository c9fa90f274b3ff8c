"""Refused commands leave nothing behind and destroy nothing, and their messages name the cause."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import slmtok
from slmtok.shards import pack

TEXT = "the cat sat on the mat " * 20


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, records, two tokenizers, counts, packed data, and what looks like a run of slm."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "a.txt").write_text(TEXT)
    (folder / "empty.txt").touch()
    (folder / "docs.jsonl").write_text("".join(f'{{"text": "document {index}"}}\n' for index in range(20)))
    corpus = str(folder / "a.txt")
    slmtok.train(corpus, vocab_size=280).save(folder / "tok.json")
    slmtok.train(corpus, vocab_size=275).save(folder / "small.json")
    slmtok.count(corpus).save(folder / "a.counts")
    pack(corpus, slmtok.load(folder / "tok.json"), folder / "data")
    (folder / "run/checkpoints").mkdir(parents=True)
    for name in ("config.yaml", "SHA256SUMS", "fingerprint.json", "metrics.jsonl"):
        (folder / "run" / name).write_text("{}")
    shutil.copy(folder / "tok.json", folder / "run/tok.json")
    return folder


@pytest.fixture
def here(slmtok, made: Path, tmp_path: Path) -> Path:
    """A copy of the folder, which is the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def state(folder: Path) -> dict[str, bytes | None]:
    """The content of every file, and the folders, below a folder."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.fixture
def refused(slmtok, here):
    """Runs a command that must fail and change nothing; gives its message."""

    def run(*line: str, code: int = 2) -> str:
        before = state(here)
        ran = slmtok(*line)
        assert ran.code == code, ran.err
        assert state(here) == before
        return ran.err

    return run


def test_packing_replaces_packed_data_alone(slmtok, refused, here):
    for force in ([], ["--force"]):
        for folder, other in ((".", "a.counts"), ("run", "SHA256SUMS")):
            for layout in ("slm", "npy"):
                line = ["pack", "a.txt", "-t", "small.json", "-o", folder, "--output-format", layout, *force]
                assert f"holds other files, such as {other!r}" in refused(*line, code=1)
    (here / "mine").mkdir()
    shutil.copy(here / "tok.json", here / "mine/tok.json")
    assert "such as 'tok.json'" in refused("pack", "a.txt", "-t", "small.json", "-o", "mine", code=1)
    assert slmtok("pack", "a.txt", "-t", "small.json", "-o", "data", "--force").code == 0
    assert slmtok("pack", "a.txt", "-t", "small.json", "-o", "data", "--output-format", "npy", "--force").code == 0
    assert slmtok("pack", "a.txt", "-t", "tok.json", "-o", "data", "--force").code == 0


def test_a_subset_that_is_too_large_is_refused_before_packing(slmtok, refused, here):
    line = ["pack", "docs.jsonl", "-t", "tok.json", "-o", "new", "--subset"]
    for more, available in (
        (["--val", "none"], 20),
        (["--max-docs", "7", "--val", "none"], 7),
        (["--val", "auto"], 18),
    ):
        assert f"fix:   --subset {available}, or fewer" in refused(*line, "2,100", *more)
    assert "fix:   --subset 1, or fewer" in refused("pack", "a.txt", "-t", "tok.json", "-o", "new", "--subset", "5")
    packed = refused("pack", "a.txt", "-t", "small.json", "-o", "data", "--force", "--subset", "5")
    assert "where: a.txt\n" in packed
    assert slmtok(*line, "2,18").code == 0
    limited = slmtok(*line[:5], "late", "--subset", "100", "--max-bytes", "100")
    assert limited.code == 2 and "where: late, which is complete and stays\n" in limited.err


def test_rows_that_do_not_fit_leave_no_folder(refused):
    line = ["pack", "a.txt", "-t", "tok.json", "--output-format", "npy", "-o", "new", "--chunk-size", "9999"]
    assert "error: --chunk-size 9999 is more than the" in refused(*line)


def test_a_rule_that_chooses_no_validation_document_is_named(slmtok, here):
    (here / "b.txt").write_text("one document")
    for text, share, lost in (("a.txt", "all", "train"), ("b.txt", "none", "val")):
        ran = slmtok("pack", text, "-t", "tok.json", "-o", f"{text}-data", "--val", "hash:10%")
        assert ran.code == 0 and f"--val hash:10% chose {share} of 1 document: {text}-data has no {lost}" in ran.err


WRONG_KINDS = {
    "train run --vocab 300 -o x": (2, "error: 'run' is a run of slm, not text\n"),
    "train data --vocab 300 -o x": (2, "is the manifest of packed data of slmtok, not text"),
    "encode a.txt -t tok.lock": (1, "tok.lock is the lock of a tokenizer of slmtok, not a tokenizer file\n"),
    "encode a.txt -t hf/tokenizer_config.json": (1, "fix:   name the tokenizer file beside it: hf/tokenizer.json\n"),
    "encode a.txt -t certificate.json": (1, "certificate.json is a certificate of slm eval, not a tokenizer file\n"),
    "reproduce tok.json": (1, "fix:   name the lock beside it: tok.lock\n"),
    "reproduce tok.lock --corpus data": (1, "error: no file 'data/a.txt', which the lock names\n"),
    "info run": (1, "error: 'run' is a run of slm, not packed data\n"),
    "exposure run": (1, "error: 'run' is a run of slm, not packed data\n"),
    "align run run --on a.txt": (1, "error: 'run' is a folder, not a file\n"),
}


@pytest.mark.parametrize("line", WRONG_KINDS)
def test_a_file_of_another_kind_is_named(slmtok, refused, here, line):
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json", "--force").code == 0
    (here / "hf").mkdir()
    (here / "hf/tokenizer.json").write_text("{}")
    (here / "hf/tokenizer_config.json").write_text('{"tokenizer_class": "a"}')
    (here / "certificate.json").write_text('{"kind": "certificate", "version": 2, "payload": {"bpb": 3.5}}')
    code, message = WRONG_KINDS[line]
    assert message in refused(*line.split(), code=code)


def test_a_lock_is_verified_and_reproduced(slmtok, here):
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "tok.json", "--force").code == 0
    assert "tok.lock: valid; lock of tok.json" in slmtok("verify", "tok.lock").out
    assert slmtok("reproduce", "tok.lock").code == 0


def test_what_excludes_the_own_file_of_a_folder_works(slmtok, refused, here):
    (here / "texts").mkdir()
    shutil.copy(here / "a.txt", here / "texts")
    shutil.copy(here / "tok.json", here / "texts")
    assert "fix:   --exclude tok.json leaves it out\n" in refused("train", "texts", "--vocab", "280", "-o", "x")
    assert slmtok("train", "texts", "--vocab", "280", "-o", "x", "--exclude", "tok.json").code == 0


def test_python_refuses_files_of_slmtok_as_text(here):
    for path, what in (("tok.json", "a tokenizer file"), ("run", "a run of slm"), ("data", "the manifest of packed")):
        with pytest.raises(slmtok.errors.OptionError, match=f"is {what}"):
            slmtok.train(here / path, vocab_size=300)
