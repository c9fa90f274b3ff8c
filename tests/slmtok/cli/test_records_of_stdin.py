"""Records of standard input, and of files whose names say no format: the fix is the program that a file gets."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from printed_fixes import fix_of

import slmtok as package

TEXTS = [f"It rained on day {number}, and the children sang in the house." for number in range(20)]
CHAT = [{"messages": [{"role": "user", "content": text}]} for text in TEXTS]
LINES = "".join(f"{json.dumps(row)}\n" for row in CHAT).encode()
PIPE = "pipe it through "


def texts_of(path: str) -> int:
    """Documents that were counted."""
    return package.PretokenCounts.load(path).documents


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("jsonl", LINES),
        ("json", json.dumps(CHAT).encode()),
        ("json", json.dumps({"rows": CHAT, "number": 20}).encode()),
        ("json", json.dumps({"a": TEXTS[0], "b": TEXTS[1]}).encode()),
        ("jsonl", "".join(f"{row}\n" for row in CHAT).encode()),
        ("jsonl", "".join(f"{json.dumps({'text': {'full': text}})}\n" for text in TEXTS).encode()),
    ],
)
def test_a_program_between_the_source_and_the_command(slmtok, format: str, data: bytes) -> None:
    for _ in range(2):
        ran = slmtok("count", "-", "--format", format, "-o", "x.counts", stdin=data)
        if ran.code == 0:
            break
        fix = fix_of(ran)
        assert fix.startswith(PIPE), fix
        data = subprocess.run(fix.removeprefix(PIPE), shell=True, check=True, input=data, capture_output=True).stdout
        format = "jsonl"
    assert slmtok("count", "-", "--format", "jsonl", "-o", "y.counts", stdin=data).code == 0
    assert texts_of("y.counts") in (2, len(TEXTS))


def test_a_table_with_another_separator(slmtok) -> None:
    data = b"id;review\n" + "".join(f"{at};{text}\n" for at, text in enumerate(TEXTS)).encode()
    fix = fix_of(slmtok("count", "-", "--format", "csv", "-o", "x.counts", stdin=data))
    command, _, option = fix.removeprefix(PIPE).rpartition(", with ")
    data = subprocess.run(command, shell=True, check=True, input=data, capture_output=True).stdout
    assert slmtok("count", "-", "--format", "csv", *option.split(), "-o", "x.counts", stdin=data).code == 0
    assert texts_of("x.counts") == len(TEXTS)
    assert not list(Path().glob("-*"))


def test_a_text_without_records(slmtok) -> None:
    fix = fix_of(slmtok("count", "-", "--format", "jsonl", "-o", "x.counts", stdin=TEXTS[0].encode()))
    assert fix == "leave --format jsonl out: the file has no JSON in its first lines"


def test_later_records_have_another_field(slmtok) -> None:
    rows = [{"text": TEXTS[0]}, *({"title": text} for text in TEXTS[1:])]
    data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    fix = fix_of(slmtok("count", "-", "--format", "jsonl", "-o", "x.counts", stdin=data))
    command, _, _ = fix.removeprefix(PIPE).partition("; or --skip-malformed")
    data = subprocess.run(command, shell=True, check=True, input=data, capture_output=True).stdout
    assert slmtok("count", "-", "--format", "jsonl", "-o", "x.counts", stdin=data).code == 0


@pytest.mark.parametrize("name", ["chat.log", "chat.jsonl.gz"])
def test_a_file_of_another_name(slmtok, name: str) -> None:
    Path(name).write_bytes(gzip.compress(LINES) if name.endswith(".gz") else LINES)
    fix = fix_of(slmtok("count", name, "--format", "jsonl", "-o", "x.counts"))
    command, _, named = fix.rpartition(" # and ")
    assert named == "name it"
    subprocess.run(command, shell=True, check=True)
    written = command.rpartition(" > ")[2]
    assert slmtok("count", written, "--format", "jsonl", "-o", "x.counts").code == 0
    assert texts_of("x.counts") == len(TEXTS)


def test_messages_that_are_read_as_text(slmtok) -> None:
    ran = slmtok("count", "-", "-o", "x.counts", stdin=LINES)
    assert "stdin looks like JSON lines" in ran.err and "--format jsonl --force" in ran.err


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("number", [2, 200])
@pytest.mark.parametrize("wrap", [str, lambda text: {"text": text}])
def test_an_array_that_is_read_as_text(slmtok, indent: int | None, number: int, wrap: Any) -> None:
    data = json.dumps([wrap(f"{TEXTS[0]} {at}") for at in range(number)], indent=indent)
    Path("rows.txt").write_text(data)
    for name, shown in (("rows.txt", "rows.txt"), ("-", "stdin")):
        ran = slmtok("count", name, "-o", "x.counts", "--force", stdin=data.encode())
        told = f"note: {shown} looks like an array of JSON, and its JSON was read as text; run it again with "
        assert told + "--format json --force for the text of its records\n" in ran.err
        words = ("count", name, "-o", "x.counts", "--format", "json", "--force")
        assert "JSON" not in slmtok(*words, stdin=data.encode()).err
        assert texts_of("x.counts") == number
    with pytest.warns(UserWarning, match="^rows.txt looks like an array of JSON, .*; format='json' for the text"):
        package.count("rows.txt")


@pytest.mark.parametrize("text", ["[12:30] good morning\n", '["so" she said]\n', "[1, 2, 3]\n", '["a", "b"]\n' * 99])
def test_text_that_begins_with_a_bracket(slmtok, text: str) -> None:
    Path("a.txt").write_text(text)
    assert "JSON" not in slmtok("count", "a.txt", "-o", "x.counts").err
