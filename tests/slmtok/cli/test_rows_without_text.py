"""Records of which some lack the text, or hold it in parts or under ids: the command of the fix takes what is there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

A, B, C = (f"It rained on day {n} in the harbour, as the captain had said." for n in range(3))
LINK = ["look at ", {"type": "link", "text": "x.org"}, " now"]


def node(name: str, parts: list[object] | None) -> dict[str, object]:
    message = {"id": name, "content": {"content_type": "text", "parts": parts}} if parts is not None else None
    return {name: {"id": name, "message": message, "children": []}}


def chat(name: str, *texts: list[object] | None) -> dict[str, object]:
    nodes = {key: value for n, parts in enumerate(texts) for key, value in node(f"{name}-{n}-aaaa", parts).items()}
    return {"title": "Rain", "mapping": nodes, "current_node": f"{name}-aaaa-aaaa-aaaa-aaaa-aaaa"}


PICTURE = {"content_type": "image_asset_pointer", "asset_pointer": "file-x"}
ROWS = {
    "an object is null": ([{"data": {"text": A}}, {"data": None}, {"data": {"text": B}}], ["data.text"], [A, B]),
    "the first is null": ([{"data": None}, {"data": {"text": A}}], ["data.text"], [A]),
    "a name is missing": ([{"data": {"text": A}}, {"data": {"n": 1}}, {"n": 1}], ["data.text"], [A]),
    "other types": ([{"data": {"text": A}}, {"data": "x"}, {"data": [1]}, 7, []], ["data.text"], [A]),
    "messages are null": (
        [{"messages": [{"role": "user", "content": A}]}, {"messages": None}, {"messages": [{"content": None}, None]}],
        [],
        [A],
    ),
    "words are null": ([{"words": ["a", "b"]}, {"words": None}, {}], [], ["a b"]),
    "sentences": ([{"all": [{"w": ["a", "b"]}, {"w": ["c"]}]}, {"all": [{}]}], [], ["a b\nc"]),
    "nodes under ids": (
        [chat("0a", None, [A], [PICTURE, B]), chat("0b", None, [C]), chat("0c", None)],
        [],
        [f"{A}\n{B}", C],
    ),
    "parts of some": ([{"text": A}, {"text": LINK}, {"text": None}, {"text": []}], [], [A, "look at x.org now"]),
    "an object of some": ([{"text": A}, {"text": {"text": B}}], [], [A, B]),
}


def paste(ran) -> None:
    command = ran.err.split("  fix:   ")[1].partition(" # and name ")[0]
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def texts_of(name: str, key: str = "text") -> list[str]:
    return [json.loads(line)[key] for line in Path(name).read_text().splitlines()]


IN_OBJECTS = ("parts of some", "an object of some")
"""Cases whose records are found in an object, as they have the field."""
CASES = [
    *((form, name) for form in ("lines", "lines between blank ones", "array") for name in ROWS),
    *(("object", name) for name in IN_OBJECTS),
]


@pytest.mark.parametrize(("form", "name"), CASES)
def test_rows_without_text_are_left_out(slmtok, form, name) -> None:
    rows, key, texts = ROWS[name]
    if form.startswith("lines"):
        end = "\n\n" if "blank" in form else "\n"
        Path("a.jsonl").write_text(end.join(map(json.dumps, rows)) + end)
    else:
        Path("a.json").write_text(json.dumps(rows if form == "array" else {"name": 7, "messages": rows}))
    options = [word for each in key for word in ("--text-key", each)]
    ran = slmtok("count", "a.jsonl" if form.startswith("lines") else "a.json", *options, "-o", "x")
    assert "holds the most text" not in ran.err
    paste(ran)
    assert texts_of("a-text.jsonl", *key) == texts
    assert slmtok("count", "a-text.jsonl", *options, "-o", "x", "--json").json["result"]["documents"] == len(texts)


def test_parts_are_joined_for_a_template(slmtok) -> None:
    rows = [{"who": "Ada", "text": A}, {"who": "Bo", "text": LINK}, {"who": "Cy", "text": None}]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--text-template", "{who}: {text}"]
    ran = slmtok("count", "a.jsonl", *options, "-o", "x")
    assert "; or --skip-malformed to skip such records" in ran.err
    paste(ran)
    assert texts_of("a-text.jsonl") == [A, "look at x.org now", ""]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"k1": {"text": A, "n": 1}, "k2": {"text": B, "n": 2}}, [A, B]),
        ({"17": {"body": A}, "18": {"n": 1}, "19": {"body": B}}, [A, B]),
        ({"17": {"page": {"words": A}}, "18": {"page": None}}, [A]),
    ],
)
def test_records_under_ids_are_written_one_a_line(slmtok, value, texts) -> None:
    Path("a.json").write_text(json.dumps(value))
    paste(slmtok("count", "a.json", "--format", "json", "-o", "x"))
    assert texts_of("a-text.jsonl") == texts
    Path("a-text.jsonl").unlink()
    assert (
        "a.json is one JSON object with texts, and its JSON was read as text; python -c"
        in slmtok("count", "a.json", "-o", "x").err
    )


def test_objects_of_settings_are_no_records(slmtok) -> None:
    Path("a.json").write_text(json.dumps({"lr": {"type": "float"}, "seed": {"type": "int"}}))
    assert slmtok("count", "a.json", "-o", "x").err.count("JSON object") == 0


def test_old_notebooks_are_made_to_text(slmtok) -> None:
    cells = [{"cell_type": "code", "input": ["a\n", "b"]}, {"cell_type": "markdown", "source": A}, {"cell_type": "raw"}]
    Path("a.ipynb").write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    paste(slmtok("count", "a.ipynb", "-o", "x"))
    assert Path("a-text.txt").read_text() == f"a\nb\n\n{A}\n\n\n\n"
