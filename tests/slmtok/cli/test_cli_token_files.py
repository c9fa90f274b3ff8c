"""`info`, `verify` and `decode` on folders and files in other layouts, ours and other programs'."""

from __future__ import annotations

import numpy as np
import pytest

import slmtok as package
from slmtok.shards.layouts import LAYOUTS

OTHERS = [name for name in LAYOUTS if name != "slm"]


@pytest.fixture
def lines(corpus):
    """Twelve short documents, a line each."""
    path = corpus.with_suffix(".lines")
    path.write_text("".join(line[:80] + "\n" for line in corpus.read_text().splitlines()[:12]))
    return path


@pytest.mark.parametrize("name", OTHERS)
def test_folders_of_other_layouts(slmtok, lines, tok, name):
    assert slmtok("pack", lines, "-t", tok, "-o", "data", "--output-format", name, "--val", "tail:30%").code == 0
    texts = lines.read_text().splitlines()
    assert slmtok("decode", "data", "--docs", "3:5", "--skip-special").out == "".join(texts[3:5])
    both = [
        slmtok("decode", "data", "--split", split, "--skip-special", "--document", "line") for split in ("train", "val")
    ]
    assert "".join(ran.out for ran in both) == lines.read_text()
    ran = slmtok("info", "data")
    assert ran.code == 0 and f"layout {name}, by slmtok pack" in ran.out and package.load(tok).fingerprint in ran.out
    splits = slmtok("info", "data", "--json").json["result"]["splits"]
    assert splits["train"]["docs"] + splits["val"]["docs"] == 12
    ran = slmtok("verify", "--deep", "data")
    assert ran.code == 0 and ran.out.startswith("data: valid; token files")
    ran = slmtok("decode", "data", "--docs", "900:")
    assert ran.code == 2 and "selects no document" in ran.err and "fix:" in ran.err


def test_one_file_of_a_folder(slmtok, lines, tok):
    slmtok("pack", lines, "-t", tok, "-o", "data", "--output-format", "llmc", "--val", "none")
    assert (
        slmtok("decode", "data/train_000000.bin", "--docs", "-1", "--skip-special").out
        == lines.read_text().splitlines()[-1]
    )
    assert slmtok("decode", "data/train_000000.bin").out.count("<s>") == 12
    assert "layout llmc" in slmtok("info", "data/train_000000.bin").out
    assert slmtok("verify", "data/train_000000.bin").code == 0


def test_rows_are_read_end_to_end(slmtok, lines, tok):
    slmtok("pack", lines, "-t", tok, "-o", "rows", "--output-format", "npy", "--chunk-size", "16", "--val", "none")
    ran = slmtok("info", "rows")
    assert "of 16 ids" in ran.out
    assert slmtok("decode", "rows", "--docs", "0", "--skip-special").out == lines.read_text().splitlines()[0]
    assert slmtok("decode", "rows/train.npy", "--input-format", "npy", "-t", tok).out.startswith("<s>")
    assert slmtok("verify", "rows").code == 0


def test_data_of_other_programs(slmtok, lines, tok, tmp_path):
    tokenizer = package.load(tok)
    texts = lines.read_text().splitlines()
    (tmp_path / "nano").mkdir()
    np.array([token for text in texts for token in [*tokenizer.encode_list(text), 2]], np.uint16).tofile(
        "nano/train.bin"
    )
    ran = slmtok("decode", "nano", "--docs", "1:3")
    assert ran.code == 2 and ran.err.startswith("error: --tokenizer is missing\n  where: nano, which another program")
    assert slmtok("decode", "nano", "-t", tok, "--docs", "1:3", "--skip-special").out == "".join(texts[1:3])
    assert "by another program" in slmtok("info", "nano").out
    assert "the largest" in slmtok("verify", "nano/train.bin").out


def test_documents_that_nothing_tells_apart(slmtok, lines, tok):
    slmtok(
        "pack", lines, "-t", tok, "-o", "data", "--output-format", "nanogpt", "--no-bos", "--no-eos", "--val", "none"
    )
    ran = slmtok("decode", "data", "--docs", "0:2")
    assert ran.code == 2 and ran.err.startswith("error: --docs 0:2: the documents of data cannot be told apart")
    assert all(part in ran.err for part in ("where:", "limit:", "fix:"))
    assert slmtok("decode", "data").out == "".join(lines.read_text().splitlines())
    assert "documents without delimiter" in slmtok("verify", "data").out


def test_a_range_of_encoded_documents(slmtok, lines, tok):
    slmtok("encode", lines, "-t", tok, "--document", "line", "--output-format", "npy", "-o", "ids.npy")
    assert slmtok("decode", "ids.npy", "-t", tok, "--docs", "2:4").out == "".join(lines.read_text().splitlines()[2:4])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tokenizer.json", "slmtok import d -o"),
        (".packing", "run the command"),
        ("x", "slmtok pack"),
    ],
)
def test_folders_that_are_something_else(slmtok, tmp_path, name, told):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).write_bytes(b"{}")
    ran = slmtok("info", "d")
    assert ran.code == 1 and told in ran.err


def test_one_shard_is_not_data(slmtok, lines, tok):
    slmtok("pack", lines, "-t", tok, "-o", "data", "--val", "none")
    for command in (["info"], ["verify"], ["decode", "-t", tok]):
        ran = slmtok(*command, "data/train-00000.bin")
        assert ran.code in (1, 3) and "one shard of packed data" in ran.err + ran.out
