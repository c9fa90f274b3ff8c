"""What a call of Python reads otherwise than its options may mean is warned of, with the option that changes it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import slmtok
from slmtok.cli.errors import flag_naming
from slmtok.corpus.notes import uncut_note
from slmtok.errors import render

STORIES = "a cat sat\n\nthe dog ran\n\n" * 100
UNCUT = "occurs nowhere: each file is one document"


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.txt").write_text(STORIES)
    Path("latin.txt").write_bytes(("garçon " * 50).encode("latin-1"))
    Path("bad.jsonl").write_text('{"text": "a cat sat"}\n{bad\n' * 3)
    return tmp_path


def told(call: Callable[..., Any], *args: Any, **keywords: Any) -> list[str]:
    """The warnings of a call, each at a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **keywords)
    assert all(each.category is UserWarning and each.filename == __file__ for each in caught), caught
    return [str(each.message) for each in caught]


def train(path: str, **options: Any) -> None:
    slmtok.train(path, vocab_size=300, allow_smaller=True, **options)


def pack(path: str, **options: Any) -> None:
    tok = slmtok.train(slmtok.Texts([STORIES]), vocab_size=275, allow_smaller=True)
    slmtok.pack(path, tok, "out", force=True, **{"val": "none", **options})


@pytest.mark.parametrize("call", [slmtok.count, train, pack])
def test_a_separator_that_cuts_no_file_is_warned_of(corpus: Path, call: Callable[..., Any]) -> None:
    """Python takes a separator as it is: one of a raw string has backslashes, and the warning has the line feeds."""
    assert told(call, "c.txt", separator="<|endoftext|>") == [f"separator='<|endoftext|>' {UNCUT}"]
    (said,) = told(call, "c.txt", separator=r"\n\n")
    assert said == rf"separator='\\n\\n' {UNCUT}; for the characters that its escapes stand for, separator='\n\n'"
    assert told(call, "c.txt", separator="\n\n") == []
    Path("tex.txt").write_text(r"one \newpage two")
    assert told(call, "tex.txt", separator=r"\newpage") == []


def test_packing_with_another_separator_needs_force(corpus: Path) -> None:
    tok = slmtok.train(slmtok.Texts([STORIES]), vocab_size=275, allow_smaller=True)
    (said,) = told(slmtok.pack, "c.txt", tok, "data", separator=r"\n\n", val="none")
    assert said.endswith(r", separator='\n\n'; force=True packs again")
    assert told(slmtok.pack, "c.txt", tok, "data", separator="\n\n", val="none", force=True) == []


def test_a_separator_is_named_before_the_split_that_it_leaves_empty(corpus: Path) -> None:
    said = told(pack, "c.txt", separator="nope", val="hash:5%")
    assert said == [f"separator='nope' {UNCUT}", "val='hash:5%' chose none of 1 document: 'out' has no val documents"]


@pytest.mark.parametrize("call", [slmtok.count, train])
def test_bytes_that_are_not_utf8_are_warned_of(corpus: Path, call: Callable[..., Any]) -> None:
    (said,) = told(call, "latin.txt")
    assert said.startswith("50 invalid bytes in 1 of 1 document were kept as bytes (first: latin.txt, byte 3); 14.29%")
    assert said.endswith("for text in Latin-1, for instance, encoding='latin-1'")
    assert told(call, "latin.txt", encoding="latin-1") == []
    assert told(call, slmtok.Texts([b"\xe7" * 50])) == [], "the bytes of the program are its own"


@pytest.mark.parametrize("call", [slmtok.count, train, pack])
def test_records_left_out_are_counted_in_a_warning(corpus: Path, call: Callable[..., Any]) -> None:
    assert told(call, "bad.jsonl", skip_malformed=True) == ["3 malformed records skipped, by skip_malformed=True"]


@pytest.mark.parametrize("call", [slmtok.count, train, pack])
def test_a_domain_without_a_file_is_warned_of(corpus: Path, call: Callable[..., Any]) -> None:
    said = told(call, "c.txt", domains={"code": "*.py", "prose": "*.txt"})
    assert said == ["domain 'code' has no document: domains={'code': '*.py'} matches no file of the corpus"]


def test_a_command_writes_the_backslash_of_a_separator_as_it_is_typed() -> None:
    fix = r"for the characters that its escapes stand for, --separator '\n\n'"
    assert render(uncut_note(r"\n\n"), flag_naming) == rf"--separator '\\n\\n' {UNCUT}; {fix}"


@pytest.mark.parametrize("call", [slmtok.count, train, pack])
def test_files_that_are_more_than_prose_are_warned_of(corpus: Path, call: Callable[..., Any]) -> None:
    again = "; force=True packs again" * (call is pack)
    Path("j.txt").write_text('{"text": "a cat sat"}\n' * 50)
    fact = "j.txt looks like JSON lines, and its JSON was read as text; format='jsonl' for the text of its records"
    assert told(call, "j.txt") == [fact + again]
    assert told(call, "j.txt", format="jsonl") == [] and told(call, "j.txt", format="text") == []
    Path("s.txt").write_text("1\n00:00:01,000 --> 00:00:02,000\na cat sat\n\n" * 50)
    (said,) = told(call, "s.txt")
    assert said.startswith("s.txt is subtitles (SRT), and its time codes were read as text; sed ")
    Path("m.txt").write_text("a cat sat<|endoftext|>the dog ran<|endoftext|>" * 50)
    (said,) = told(call, "m.txt")
    assert said.endswith(f"read as text; separator='<|endoftext|>' for the documents between them{again}")
    assert told(call, "m.txt", separator="<|endoftext|>") == []
