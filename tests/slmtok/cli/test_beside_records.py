"""Files beside the records of a data set, which are read as text: a note names them, and leaves them out."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import slmtok as library
from slmtok.errors import MalformedRecord


@pytest.fixture
def data_set(slmtok):
    """A data set as it is cloned: its card, its licence and its metadata lie beside the records."""
    Path("set/data").mkdir(parents=True)
    rows = [{"text": f"The harbour was quiet on day {n}. " * 9} for n in range(20)]
    Path("set/data/train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("set/README.md").write_text("# A data set\n\nIt is about a harbour.\n")
    Path("set/LICENSE").write_text("MIT License\n")
    Path("set/dataset_infos.json").write_text(json.dumps({"default": {"features": {"text": {"dtype": "string"}}}}))
    return slmtok


def test_note_names_what_lies_beside_records(data_set):
    err = data_set("count", "set", "-o", "x.counts").err
    assert "note: set/LICENSE and 2 more files beside the records of set/data/train.jsonl were read as text; " in err
    options = shlex.split(err.split("run it again with ")[1].split(" to leave them out")[0])
    again = data_set("count", "set", "-o", "x.counts", *options)
    assert again.code == 0 and "beside" not in again.err
    assert "20 documents" in again.out


def test_array_of_json_holds_the_records(data_set):
    rows = [json.loads(line) for line in Path("set/data/train.jsonl").read_text().splitlines()]
    Path("set/data/train.jsonl").unlink()
    Path("set/train.json").write_text(json.dumps(rows))
    err = data_set("count", "set", "-o", "x.counts").err
    assert "note: set/LICENSE and 2 more files beside the records of set/train.json were read as text; " in err


def test_python_warns_of_what_lies_beside_records(data_set):
    with pytest.warns(UserWarning, match=r"exclude=\('LICENSE', 'README.md', 'dataset_infos.json'\) leaves them out"):
        library.train("set", vocab_size=290, allow_smaller=True)


@pytest.mark.parametrize(
    ("corpus", "name", "times"),
    [
        (["set/data/train.jsonl", "set/README.md"], "README.md", 1),
        (["set"], "notes.txt", 1),
        (["set"], "README.md", 1000),
    ],
    ids=["named", "text", "larger"],
)
def test_no_note_on_text_that_is_meant(data_set, corpus, name, times):
    for each in ("README.md", "LICENSE", "dataset_infos.json"):
        Path("set", each).unlink()
    Path("set", name).write_text("The sea was calm, and the night was clear.\n" * times)
    assert "beside" not in data_set("count", *corpus, "-o", "x.counts").err


def test_no_note_on_a_mixture_of_many_files(data_set):
    for n in range(9):
        Path(f"set/{n}.md").write_text("The sea was calm.\n")
    assert "beside" not in data_set("count", "set", "-o", "x.counts").err


def test_the_field_of_the_text_is_named_with_what_lies_beside(data_set):
    """One fix for both: the note on the files beside would come after all is read."""
    train = Path("set/data/train.jsonl")
    train.write_text(train.read_text().replace('"text"', '"content"'))
    ran = data_set("count", "set", "-o", "x.counts")
    named = "--text-key content --exclude LICENSE --exclude README.md --exclude dataset_infos.json"
    assert f"  fix:   {named} if all records have it, else --skip-malformed\n" in ran.err
    again = data_set("count", "set", "-o", "x.counts", *named.split())
    assert again.code == 0 and "beside" not in again.err
    with pytest.raises(MalformedRecord) as raised:
        library.train("set", vocab_size=290, allow_smaller=True, exclude=["LICENSE"])
    call = str(raised.value.fix).partition(" if ")[0]
    assert call == "text_key='content', exclude=('LICENSE', 'README.md', 'dataset_infos.json')"
    assert library.train("set", vocab_size=290, allow_smaller=True, **eval(f"dict({call})"))
