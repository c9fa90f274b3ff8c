"""Options and values of other tools, each answered by what was meant with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from printed_fixes import fix_of


@pytest.fixture
def here(slmtok, made_folder: Path, tmp_path: Path) -> Path:
    """A copy of `made_folder`, which is the working folder."""
    shutil.copytree(made_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize(("value", "pattern"), [("false", "whole"), ("true", "slm")])
def test_a_text_is_split_as_the_value_says(slmtok, here: Path, value: str, pattern: str) -> None:
    """`false` led to the default, which splits at white space."""
    line = ["train", "a.txt", "--vocab", "280", "-o", "new.json"]
    fix = fix_of(slmtok(*line, f"--split_by_whitespace={value}"))
    assert fix.startswith(f"use --pattern {pattern}, ")
    assert slmtok(*line, "--pattern", pattern).code == 0


def test_measures_by_language_need_domains(slmtok, here: Path) -> None:
    line = ["eval", "tok.json", "--on", "a.txt", "--by", "language"]
    assert fix_of(slmtok(*line)) == "--by domain with --domain NAME=GLOB, one or more"
    assert fix_of(slmtok(*line, "--domain", "en=a.txt")) == "--by domain"


def test_markup_with_a_field_leads_to_its_text(slmtok, here: Path) -> None:
    Path("bible.xml").write_text("<a><seg>the cat</seg><seg>the dog</seg></a>")
    fix = fix_of(slmtok("train", "bible.xml", "--text-key", "seg", "--vocab", "280", "-o", "new.json"))
    command, _, rest = fix.partition(" # and name it ")
    assert rest == "without the option: bible.xml is XML, whose tags would be learned as text"
    subprocess.run(command, shell=True, check=True)
    assert Path("bible-text.txt").read_text().split() == ["the", "cat", "the", "dog"]


def test_a_split_by_its_name_is_no_share(slmtok, here: Path) -> None:
    """A tenth of the documents was held out for `--split train`."""
    line = ["pack", "a.txt", "-t", "tok.json", "-o", "new"]
    fix = fix_of(slmtok(*line, "--split", "train"))
    assert fix.startswith("leave it out: files have no splits, and --val none puts all of them into train")
    assert "hf:NAME@train" in fix and slmtok(*line, "--val", "none").code == 0


@pytest.mark.parametrize("option", ["--num-shards 8", "--append-eod"])
def test_options_of_packing_elsewhere(slmtok, here: Path, option: str) -> None:
    line = ["pack", "a.txt", "-t", "tok.json", "-o", "new"]
    fix = fix_of(slmtok(*line, *option.split()))
    given = fix.removeprefix("use ").split(", ")[0].split() if "--shard-tokens" in fix else []
    assert given or fix.startswith("leave it out: pack puts bos before each document, and eos after it")
    assert slmtok(*line, *given).code == 0
