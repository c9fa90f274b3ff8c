"""Validation text of another kind than the training text: the fix packs it by options of its own, and trains."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import slmtok

LINE = "The cat saw the dog; the dog saw nothing."
OF_PROMPTS = "--text-template '{instruction}\\n{input}\\n{output}'"
PROMPTS = [{"instruction": f"Say {n}", "input": "", "output": LINE} for n in range(40)]


@pytest.fixture
def files(slm: Any) -> Any:
    slmtok.train(slmtok.Texts([LINE * 9]), vocab_size=290).save("tok.json")
    Path("text.txt").write_text("\n\n".join(f"{n}: {LINE}" for n in range(400)))
    Path("prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PROMPTS))
    Path("content.jsonl").write_text("".join(json.dumps({"content": f"{n}: {LINE}"}) + "\n" for n in range(400)))
    return slm


@pytest.mark.parametrize(
    ("data", "val", "options", "of_packing"),
    [
        (
            "text.txt",
            "prompts.jsonl",
            ["--separator", "\\n\\n"],
            "--text-template '{instruction}\\n{input}\\n{output}'",
        ),
        ("text.txt", "prompts.jsonl", [], OF_PROMPTS),
        ("text.txt", "prompts.jsonl", ["--text-template", "{output}"], "--text-template '{output}'"),
        ("content.jsonl", "text.txt", ["--text-key", "content"], ""),
        ("text.txt", "content.jsonl", [], "--text-key content"),
    ],
)
def test_the_fix_packs_the_validation_text(files, data, val, options, of_packing):
    stem = val.partition(".")[0]
    line = ["train", data, "-t", "tok.json", "--val", val, *options, "--dry-run"]
    ran = files(*line)
    assert ran.code in (1, 2)
    err = ran.err
    words = f"{of_packing} " if of_packing else ""
    command = f"slmtok pack {val} -t tok.json {words}--val none -o {stem}-val"
    assert f"  fix:   {command}, and --val {stem}-val" in err
    assert f"one set of options reads the training text and --val {val}" in err
    subprocess.run(f"{sys.executable} -m {command}", shell=True, check=True, capture_output=True)
    kept = [] if "without --text-template" in err else options
    files("train", data, "-t", "tok.json", "--val", f"{stem}-val", *kept, "--dry-run", code=0)


def test_a_tokenizer_is_no_validation_text(files):
    ran = files("train", "text.txt", "-t", "tok.json", "--val", "tok.json", "--dry-run")
    assert "error: tok.json is a tokenizer file of slmtok, not text\n  where: --val\n" in ran.err
    assert "  fix:   slm train text.txt -t tok.json --dry-run, which chooses from the training text; or " in ran.err
    files("train", "text.txt", "-t", "tok.json", "--dry-run", code=0)


def test_text_beside_packed_data_is_packed_by_the_line_that_trains(files):
    slmtok.pack("text.txt", slmtok.load("tok.json"), "data", separator="\n\n")
    Path("run.yaml").write_text("data: {train: data, val: text.txt}\n")
    for words, kept, where in (
        (["data", "--val", "text.txt", "--dry-run"], "data --dry-run", "--val"),
        (["data", "--set", "data.val=text.txt", "--dry-run"], "data --dry-run", "--set data.val"),
        (["--config", "run.yaml", "--dry-run"], "--config run.yaml --dry-run", "run.yaml, line 1"),
    ):
        err = files("train", *words, code=2).err
        assert f"error: text.txt is not a file of ids\n  where: {where}\n" in err
        packed, line = err.rpartition("fix:   ")[2].split(" && ")
        assert packed == "slmtok pack text.txt -t data/tok.json --separator $'\\n\\n' --val none -o text-val"
        assert line == f"slm train {kept} --val text-val\n"
    slmtok.pack("text.txt", slmtok.load("tok.json"), "text-val", separator="\n\n", val="none")
    files(*line.split()[1:], code=0)
