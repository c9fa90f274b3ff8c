"""Addresses of web pages about data sets, models, repositories and files: no fix makes a corpus of their HTML."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from printed_fixes import fix_of_line, refused

from slmtok import count
from slmtok.errors import MissingInput

HUB = "https://huggingface.co"
GITHUB, GITLAB = "https://github.com/karpathy/char-rnn", "https://gitlab.com/a/b"
STORIES = f"{HUB}/datasets/roneneldan/TinyStories"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "address, name",
    {
        STORIES: "hf:roneneldan/TinyStories",
        f"{STORIES}/": "hf:roneneldan/TinyStories",
        f"{STORIES}/tree/main": "hf:roneneldan/TinyStories",
        f"{STORIES}/viewer": "hf:roneneldan/TinyStories",
        f"{STORIES}/viewer/default/validation?p=1": "hf:roneneldan/TinyStories:default@validation",
        f"{HUB}/datasets/wikitext": "hf:wikitext",
        f"{HUB}/datasets/wikitext/viewer/a/test": "hf:wikitext:a@test",
        "https://hf.co/datasets/wikitext#readme": "hf:wikitext",
    }.items(),
)
def test_the_page_of_a_data_set_stands_for_its_name(slmtok, here: Path, address: str, name: str) -> None:
    ran = refused(slmtok, f"train {address!r} --vocab 300 -o o.json")
    assert ran.err == (
        f"error: {address!r} is the page of a data set\n  limit: files, or a data set by its name\n"
        f"  fix:   slmtok train {name} --vocab 300 -o o.json\n"
    )


def test_the_page_of_a_data_set_in_other_places(slmtok, here: Path) -> None:
    with pytest.raises(MissingInput, match="is the page of a data set") as raised:
        count(STORIES)
    assert raised.value.fix == "'hf:roneneldan/TinyStories'"
    fix = fix_of_line(slmtok, f"import {STORIES} -o x.json")
    assert fix == "name a file; where text is read, hf:roneneldan/TinyStories names the data set"


@pytest.mark.parametrize(
    "address, fetch, copy",
    [
        (f"{STORIES}/blob/main/a.txt", f"curl -fLo a.txt {STORIES}/resolve/main/a.txt", "a.txt"),
        (f"{STORIES}/resolve/main/a.txt", f"curl -fLo a.txt {STORIES}/resolve/main/a.txt", "a.txt"),
        (f"{GITHUB}/blob/master/data/b.txt", f"curl -fLo b.txt {GITHUB}/raw/master/data/b.txt", "b.txt"),
        (
            "https://gitlab.com/a/b/-/blob/main/c.txt",
            "curl -fLo c.txt https://gitlab.com/a/b/-/raw/main/c.txt",
            "c.txt",
        ),
        ("https://host/blob/c.txt", "curl -fLo c.txt https://host/blob/c.txt", "c.txt"),
        (GITHUB, f"git clone --depth 1 {GITHUB} char-rnn", "char-rnn"),
        (f"{GITHUB}.git", f"git clone --depth 1 {GITHUB} char-rnn", "char-rnn"),
        (f"{GITHUB}/tree/dev/data", f"git clone --depth 1 -b dev {GITHUB} char-rnn", "char-rnn/data"),
    ],
)
def test_a_page_of_code_is_fetched_as_files(slmtok, here: Path, address: str, fetch: str, copy: str) -> None:
    assert fix_of_line(slmtok, f"count {address} -o o.counts") == f"{fetch} && slmtok count {copy} -o o.counts"


def test_a_repository_is_cloned_to_a_name_not_in_use(slmtok, here: Path) -> None:
    (here / "char-rnn").mkdir()
    (here / "far").mkdir()
    (here / "far/a.txt").write_text("the text of a repository\n")
    for line in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm a"):
        subprocess.run(["git", *line.split()], cwd=here / "far", check=True)
    fix = fix_of_line(slmtok, f"count {GITHUB} -o o.counts")
    fetch, _, count = fix.partition(" && ")
    subprocess.run(shlex.split(fetch.replace(GITHUB, (here / "far").as_uri())), check=True, capture_output=True)
    assert slmtok(*shlex.split(count)[1:]).code == 0
    assert (here / "char-rnn-2/a.txt").is_file() and not [*(here / "char-rnn").iterdir()]


def test_the_page_of_a_model_is_that_of_its_tokenizer(slmtok, here: Path) -> None:
    """As text it stands for nothing."""
    address = f"{HUB}/openai-community/gpt2"
    fix = fix_of_line(slmtok, f"import {address} -o x.json")
    fetch = "hf download openai-community/gpt2 tokenizer.json --local-dir ."
    assert fix == f"{fetch} && slmtok import tokenizer.json -o x.json"
    assert fix_of_line(slmtok, f"count {address} -o o.counts") == "name text: files, or a data set as hf:NAME"


def test_an_address_before_a_path_of_this_system_names_the_path(slmtok, here: Path) -> None:
    """`hf:/tmp/x` was quoted as `hf://tmp/x`, an address to fetch."""
    (here / "a.txt").write_text("a b c\n" * 9)
    file = here / "a.txt"
    for kind in ("hf:", "file:"):
        # The file is no tokenizer, which the fix says too.
        assert fix_of_line(slmtok, f"eval {kind}{file} --on a.txt").endswith(f"slmtok eval {file} --on a.txt")
    for address in (f"hf:{file}.lost", "hf://datasets/a/b.json"):
        assert refused(slmtok, f"eval {address} --on a.txt").err.startswith(f"error: {address!r} is an address")
