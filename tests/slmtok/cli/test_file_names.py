"""File names that are not UTF-8: read where no file records them, refused before the work where one does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
NAME = os.fsdecode(b"b\xffd")


@pytest.fixture(autouse=True)
def bad_name(slmtok, tok) -> None:
    for name in (NAME, "good"):
        Path(f"{name}.txt").write_text("the cat sat on the mat\n" * 20)


@pytest.mark.parametrize(
    "command",
    [
        ["train", f"{NAME}.txt", "--vocab", "280", "-o", "made.json"],
        ["train", "good.txt", "--vocab", "280", "-o", f"{NAME}.json"],
        ["pack", f"{NAME}.txt", "-t", "TOK", "-o", "packed"],
    ],
    ids=["train", "output", "pack"],
)
def test_refused_where_a_file_records_the_name(slmtok, tok, command):
    before = sorted(Path().iterdir())
    ran = slmtok(*(tok if part == "TOK" else part for part in command))
    assert ran.code == 2 and ran.err.startswith("error: the file name 'b\\udcffd.") and "is not UTF-8" in ran.err
    assert sorted(Path().iterdir()) == before


def test_read_elsewhere(slmtok, tok):
    for command in (["count", "-o", "all.counts"], ["encode", "-t", tok, "-o", f"{NAME}.ids"]):
        assert slmtok(command[0], f"{NAME}.txt", *command[1:]).code == 0
    assert slmtok("info", f"{NAME}-missing").err.startswith("error: no file 'b\\udcffd-missing'")


@pytest.mark.parametrize(
    "option", ["--pattern", "--separator", "--text-key", "--domain"], ids=["pattern", "separator", "key", "domain"]
)
def test_options_that_a_file_records_are_utf_8(slmtok, option):
    """They were refused by a UnicodeEncodeError, some after the corpus had been read."""
    value = f"{NAME}=*" if option == "--domain" else f"{NAME} "
    ran = slmtok("count", "good.txt", option, value, "-o", "all.counts")
    assert ran.code == 2 and "b\\udcffd" in ran.err and "UTF-8" in ran.err
    assert not Path("all.counts").exists()


def test_a_fix_spells_names_as_a_shell_reads_them(slmtok):
    names = ["a\nb.txt", "a\\b\tc.txt", f"{NAME}.txt", "two words.txt"]
    for name in ("-a.txt", *names):
        Path(name).write_text("the cat sat on the mat\n" * 20)
    ran = slmtok("count", "-a.txt", *names, "-o", "all.counts")
    line = next(line for line in ran.err.splitlines() if line.startswith("  fix:   "))
    assert r"$'a\nb.txt' $'a\\b\x09c.txt' $'b\xffd.txt' 'two words.txt'" in line
    printed = ["bash", "-c", f"printf '%s\\0' {line.partition('./-a.txt')[2]}"]
    read = subprocess.run(printed, capture_output=True, check=True).stdout
    assert read.split(b"\0")[: len(names)] == [*map(os.fsencode, names)]
