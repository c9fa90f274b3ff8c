"""Files that are no lines of JSON, read as such: the fix is of what they are, for to skip the lines leaves nothing."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from printed_fixes import fix_of

ROWS = [{"id": n, "text": f"It rained on day {n}, and nobody had an umbrella."} for n in range(30)]
N_BYTES = sum(len(row["text"]) for row in ROWS)
PAGE = "<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n"


def test_objects_of_several_lines_are_read_as_json(slmtok):
    Path("a.jsonl").write_text("".join(json.dumps(row, indent=2) + "\n" for row in ROWS))
    ran = slmtok("count", "a.jsonl", "-o", "x")
    assert fix_of(ran) == "--format json, which reads objects of several lines"
    again = slmtok("count", "a.jsonl", "--format", "json", "-o", "x", "--json").json["result"]
    assert (again["documents"], again["bytes"]) == (len(ROWS), N_BYTES)


def test_dicts_of_python_are_written_as_json(slmtok):
    Path("a.jsonl").write_text("".join(f"{row!r}\n" for row in ROWS) + "\n")
    ran = slmtok("count", "a.jsonl", "-o", "x")
    assert "limit: JSON, and this is a dict of Python\n" in ran.err
    command, _, rest = fix_of(ran).partition(" # and name it")
    assert not rest
    command = command.replace("python -c", f"{shlex.quote(sys.executable)} -c")
    subprocess.run(command, shell=True, check=True)
    again = slmtok("count", "a-json.jsonl", "-o", "x", "--json").json["result"]
    assert (again["documents"], again["bytes"]) == (len(ROWS), N_BYTES)


@pytest.mark.parametrize("first", [0, 20])
def test_control_characters_in_strings_are_escaped(slmtok, first):
    """Python's parser takes such a line for a dict."""
    lines = [json.dumps(row) for row in ROWS]
    lines[first:] = [line.replace("It", "\x01t") for line in lines[first:]]
    Path("a.jsonl").write_text("\n".join(lines) + "\n")
    ran = slmtok("count", "a.jsonl", "-o", "x")
    assert f"control character U+0001 stands in a string at column {lines[first].index(chr(1)) + 1}, near" in ran.err
    assert "dict" not in ran.err and f"where: a.jsonl, line {first + 1}\n" in ran.err
    command, _, rest = fix_of(ran).partition(" # and name it")
    assert not rest
    subprocess.run(command.replace("python -c", f"{shlex.quote(sys.executable)} -c"), shell=True, check=True)
    again = slmtok("count", "a-json.jsonl", "-o", "x", "--json").json["result"]
    assert (again["documents"], again["bytes"]) == (len(ROWS), N_BYTES)
    Path("a.json").write_text(f"[{','.join(lines)}]")
    ran = slmtok("count", "a.json", "-o", "y")
    assert "not JSON: control character U+0001 stands in a string at line 1, column" in ran.err
    Path("a.jsonl").write_text('{"text": "a\\qb"}\n')
    assert fix_of(slmtok("count", "a.jsonl", "-o", "y")) == "repair the file: of its first 1 line none is JSON"


def test_a_printed_command_shows_the_line_that_is_no_json(slmtok):
    rows = [json.dumps({"body": {"text": row["text"]}}) for row in ROWS]
    Path("a.jsonl").write_text("\n".join([*rows, "{broken"]) + "\n")
    command = fix_of(slmtok("count", "a.jsonl", "-o", "x")).partition(" # and name it")[0]
    command = command.replace("python -c", f"{shlex.quote(sys.executable)} -c")
    ran = subprocess.run(command, shell=True, check=False, capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr.strip() == "not JSON: {broken"


def test_plain_text_is_not_skipped_line_by_line(slmtok):
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("Once upon a time.\nThe end.\n")
    ran = slmtok("count", "texts", "--format", "jsonl", "-o", "x")
    assert fix_of(ran) == "leave --format out: the name says text"
    shutil.copy("texts/a.txt", "plain")
    ran = slmtok("count", "plain", "--format", "jsonl", "-o", "x")
    assert fix_of(ran) == "leave --format jsonl out: the file has no JSON in its first lines"
    Path("a.jsonl").write_text("Once upon a time.\nThe end.\n")
    ran = slmtok("count", "a.jsonl", "-o", "x")
    assert fix_of(ran) == "--format text, if it is to be read as plain text; else name another file"


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.tsv"])
def test_a_page_of_html_is_no_record_of_any_format(slmtok, name):
    Path(name).write_text(PAGE)
    ran = slmtok("count", name, "-o", "x")
    assert "HTML" in ran.err.splitlines()[0]
    assert fix_of(ran) == "fetch the file again: it may be the page of an error"
    assert not Path("x").exists()


def test_lines_that_are_all_malformed_are_not_to_be_skipped(slmtok):
    Path("a.jsonl").write_text('{text: "one"}\n{text: "two"}\n')
    assert fix_of(slmtok("count", "a.jsonl", "-o", "y")) == "repair the file: of its first 2 lines none is JSON"
    Path("a.jsonl").write_text('{text: "one"}\n{"text": "two"}\n')
    assert "--skip-malformed" in fix_of(slmtok("count", "a.jsonl", "-o", "x"))
