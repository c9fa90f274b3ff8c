"""Texts and records inside objects and arrays of JSON: notes where JSON is read as text, commands that make records."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from printed_fixes import fix_of

TEXTS = [f"It rained on day {n}, and the children sang in the house." for n in range(12)]
RECORDS = [{"id": f"a{n}", "content": text} for n, text in enumerate(TEXTS)]
ARTICLES = [
    {"title": f"Day {n}", "paragraphs": [{"context": text, "qas": [{"question": "Why?", "answers": [{"text": "So"}]}]}]}
    for n, text in enumerate(TEXTS)
]
SAID = "is one JSON object with texts, and its JSON was read as text; "


def note_of(ran, name: str) -> str:
    return next(each.partition(SAID)[2] for each in ran.err.splitlines() if each.startswith(f"note: {name} {SAID}"))


def paste(fix: str) -> None:
    command, _, _ = fix.partition(" # and name it")
    assert command.startswith("python -c ")
    subprocess.run(command.replace("python -c", f"{shlex.quote(sys.executable)} -c"), shell=True, check=True)


def check_texts(ran) -> None:
    result = ran.json["result"]
    assert (result["documents"], result["bytes"]) == (len(TEXTS), sum(map(len, TEXTS)))


@pytest.mark.parametrize("more", [1, 40])
@pytest.mark.parametrize("key", [[], ["--text-key", "body"]])
def test_records_beside_other_values_are_noted(slmtok, more: int, key: list[str]) -> None:
    """The whole file is read as text; it may be longer than its beginning, which is looked at."""
    Path("a.json").write_text(json.dumps({"version": 1, "data": RECORDS * more, "next": None}))
    note = note_of(slmtok("count", "a.json", *key, "-o", "x.counts"), "a.json")
    assert note == "run it again with --text-key content --force"
    again = slmtok("count", "a.json", "--text-key", "content", "-o", "x.counts", "--force", "--json")
    assert again.json["result"]["documents"] == len(TEXTS) * more
    assert "read as text" not in slmtok("count", "a.json", "--text-key", "content", "-o", "x.counts", "--force").err
    assert fix_of(slmtok("count", "a.json", "--format", "json", "-o", "y.counts")) == "--text-key content"


@pytest.mark.parametrize("value", [{"version": "1.1", "data": ARTICLES}, {"data": ARTICLES, "version": "1.1"}])
def test_texts_of_articles_are_written_as_records(slmtok, value) -> None:
    """No title, version or question is taken for the text."""
    Path("squad.json").write_text(json.dumps(value))
    note = note_of(slmtok("count", "squad.json", "-o", "x.counts"), "squad.json")
    fix = fix_of(slmtok("count", "squad.json", "--format", "json", "-o", "y.counts"))
    assert note == f"{fix}, with --force"
    paste(fix)
    check_texts(slmtok("count", "squad-text.jsonl", "-o", "y.counts", "--json"))


LONG = [{"id": "a", "content": f"{text} {'Then the children slept. ' * 20}"} for text in TEXTS * 5]
"""More than the beginning of a file that is looked at, which ends in a text."""


@pytest.mark.parametrize(
    "value",
    [
        {f"doc{n}": row for n, row in enumerate(LONG)},
        {"data": {"train": LONG}, "version": 1},
        {"version": 1, "data": {"names": ["train"], "train": LONG}},
        {"version": 1, "data": {"train": [{"text": row["content"]} for row in LONG]}},
    ],
)
def test_records_in_an_object_or_its_objects_are_noted(slmtok, value) -> None:
    Path("a.json").write_text(json.dumps(value))
    note = note_of(slmtok("count", "a.json", "-o", "x.counts"), "a.json")
    assert note == f"{fix_of(slmtok('count', 'a.json', '--format', 'json', '-o', 'y.counts'))}, with --force"
    paste(note)
    ran = slmtok("count", "a-text.jsonl", "-o", "x.counts", "--force", "--json")
    assert ran.json["result"]["bytes"] == sum(len(row["content"]) for row in LONG)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_long_texts_inside_records_are_meant(slmtok, name: str) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ARTICLES)
    Path(name).write_text(lines if name == "a.jsonl" else json.dumps(ARTICLES))
    paste(fix_of(slmtok("count", name, "-o", "x.counts")))
    check_texts(slmtok("count", "a-text.jsonl", "-o", "x.counts", "--json"))


@pytest.mark.parametrize("column", [TEXTS, {str(n): text for n, text in enumerate(TEXTS)}])
@pytest.mark.parametrize("key", ["text", "story"])
def test_columns_of_texts_are_written_as_records(slmtok, column, key: str) -> None:
    """As `to_json` of a table writes them."""
    Path("cols.json").write_text(json.dumps({"id": [1, 2], key: column}))
    note = note_of(slmtok("count", "cols.json", "--text-key", key, "-o", "x.counts"), "cols.json")
    paste(note)
    check_texts(slmtok("count", "cols-text.jsonl", "--text-key", key, "-o", "y.counts", "--json"))


@pytest.mark.parametrize("more", [1, 300])
@pytest.mark.parametrize("key", [[], ["--text-key", "utterance"]])
def test_a_table_by_columns_is_noted(slmtok, more: int, key: list[str]) -> None:
    """Its texts may stand behind columns of numbers and names that are longer than the beginning of other files."""
    rows = [{"id": n, "speaker": "Anna", "utterance": text} for n, text in enumerate(TEXTS * more)]
    columns = {name: {str(at): row[name] for at, row in enumerate(rows)} for name in rows[0]}
    Path("frame.json").write_text(json.dumps(columns))
    note = note_of(slmtok("count", "frame.json", *key, "-o", "x.counts"), "frame.json")
    paste(note)
    again = slmtok("count", "frame-text.jsonl", *key, "-o", "y.counts", "--json").json["result"]
    assert again["documents"] == len(rows) and again["bytes"] == sum(len(row["utterance"]) for row in rows)


def test_settings_are_no_texts(slmtok) -> None:
    for value in (
        {"name": "a", "files": ["one", "two"], "scripts": {"test": "pytest"}},
        {"a": 1},
        {"references": [{"path": "./a"}], "next": None},
        {"version": 1, "data": [{"text": text} for text in TEXTS]},
        {"data": TEXTS},
        [],
    ):
        Path("a.json").write_text(json.dumps(value))
        assert "read as text" not in slmtok("count", "a.json", "-o", "x.counts", "--force").err, value


@pytest.mark.parametrize("options", [[], ["--format", "json"]])
@pytest.mark.parametrize(
    "rows", [[text.split(" ") for text in TEXTS], [[{"role": "user", "content": text}] for text in TEXTS]]
)
def test_a_list_in_each_line_is_written_as_a_record(slmtok, rows, options) -> None:
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paste(fix_of(slmtok("count", "a.jsonl", *options, "-o", "x.counts")))
    check_texts(slmtok("count", "a-text.jsonl", "-o", "x.counts", "--json"))
    Path("a.json").write_text(json.dumps(rows))
    paste(fix_of(slmtok("count", "a.json", "-o", "y.counts")))
    check_texts(slmtok("count", "a-text-2.jsonl" if Path("a-text-2.jsonl").exists() else "a-text.jsonl",
                       "-o", "y.counts", "--json"))  # fmt: skip


def test_an_array_in_one_line_holds_the_records(slmtok) -> None:
    Path("a.jsonl").write_text(json.dumps([{"text": text} for text in TEXTS]) + "\n")
    assert fix_of(slmtok("count", "a.jsonl", "-o", "x.counts")) == "--format json, which reads arrays"
    check_texts(slmtok("count", "a.jsonl", "--format", "json", "-o", "x.counts", "--json"))


@pytest.mark.parametrize(
    ("line", "limit"),
    [
        (lambda record: "\x1e" + json.dumps(record), "JSON text sequences (RFC 7464) have a separator, U+001E,"),
        (lambda record: json.dumps(json.dumps(record)), "one JSON object a line, and this is one in quotes"),
    ],
)
def test_records_behind_a_separator_or_in_quotes_are_made_records(slmtok, line, limit: str) -> None:
    Path("a.jsonl").write_text("".join(line({"text": text}) + "\n" for text in TEXTS))
    ran = slmtok("count", "a.jsonl", "-o", "x.counts")
    assert f"  limit: {limit}" in ran.err
    command, named = fix_of(ran).split(" # and name ")
    assert named == "it"
    subprocess.run(["bash", "-c", command], check=True)
    check_texts(slmtok("count", "a-lines.jsonl", "-o", "x.counts", "--json"))


def test_a_text_in_each_line_is_read_as_json(slmtok) -> None:
    Path("a.jsonl").write_text("".join(json.dumps(text) + "\n" for text in TEXTS))
    fix = fix_of(slmtok("count", "a.jsonl", "-o", "x.counts"))
    assert fix == "--format json, which reads texts without a field"
    check_texts(slmtok("count", "a.jsonl", "--format", "json", "-o", "x.counts", "--json"))
    fix = fix_of(slmtok("count", "a.jsonl", "--text-key", "body", "-o", "y.counts"))
    assert fix == "--format json, which reads texts without a field; leave --text-key out"


@pytest.mark.parametrize("rows", [12, 4000])
@pytest.mark.parametrize("key", [[], ["--text-key", "content"]])
def test_a_table_split_into_columns_and_data_is_noted(slmtok, rows: int, key: list[str]) -> None:
    """pandas writes it by `orient="split"`; its index may be longer than the beginning that is looked at."""
    data = [[f"a{n}", TEXTS[n % 12]] for n in range(rows)]
    table = {"columns": ["id", "content"], "index": [*range(rows)], "data": data}
    Path("d.json").write_text(json.dumps(table))
    paste(note_of(slmtok("count", "d.json", *key, "-o", "x.counts"), "d.json"))
    ran = slmtok("count", "d-text.jsonl", "--text-key", "content", "-o", "x.counts", "--force", "--json")
    assert ran.json["result"]["documents"] == rows
    assert "read as text" not in ran.err


@pytest.mark.parametrize(
    ("record", "key", "meant"),
    [
        ({"title": "A", "body": "It rained."}, [], "--format json --text-key body"),
        ({"title": "A", "body": "It rained."}, ["--text-key", "title"], "--format json"),
        ({"id": 1, "text": "It rained."}, [], "--format json"),
        ({"lang": "en", "story": TEXTS[0]}, [], "--format json --text-key story"),
    ],
)
def test_files_with_one_record_each_are_read_as_records(slmtok, record, key: list[str], meant: str) -> None:
    """The values of one of them would be documents without their record, and the other files would be left out."""
    Path("d").mkdir()
    for number in range(3):
        Path(f"d/{number}.json").write_text(json.dumps(record))
    said = "note: d/0.json and 2 more files are each one JSON object with texts, and their JSON was read as text; "
    assert f"{said}run it again with {meant} --force\n" in slmtok("count", "d", *key, "-o", "x.counts").err
    ran = slmtok("count", "d", *key, *meant.split(), "-o", "x.counts", "--force", "--json")
    texts = {**record}[meant.partition("--text-key ")[2] or (key or ["", "text"])[1]]
    assert (ran.json["result"]["documents"], ran.json["result"]["bytes"]) == (3, 3 * len(texts))


def test_files_of_settings_are_no_records(slmtok) -> None:
    Path("d").mkdir()
    for number in range(3):
        Path(f"d/{number}.json").write_text(json.dumps({"name": "a", "mode": "b", "size": 3}))
    assert "one JSON object" not in slmtok("count", "d", "-o", "x.counts").err
