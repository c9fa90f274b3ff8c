"""Databases of SQLite as a corpus: the command that the error prints writes the column with the longest texts."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

import pytest

SENTENCE = "the evening river went through the old town"


def written(name: str, tables: dict[str, list[tuple[str, str]]]) -> None:
    base = sqlite3.connect(name)
    for table, rows in tables.items():
        base.execute(f"CREATE TABLE [{table}] (id INTEGER PRIMARY KEY, [from] TEXT, [the text] TEXT)")
        base.executemany(f"INSERT INTO [{table}] ([from], [the text]) VALUES (?, ?)", rows)
    base.commit()
    base.close()


@pytest.mark.parametrize("name", ["app.db", "it's 50% here?.sqlite3"])
def test_the_longest_texts_of_a_database_are_written(slmtok, name: str) -> None:
    rows = [("ann", f"{SENTENCE} {at}") for at in range(3)]
    written(name, {"order": [*rows, ("bob", None)], "users": [("x", "y")]})  # type: ignore[list-item]
    data = Path(name).read_bytes()
    ran = slmtok("count", name, "-o", "a.counts")
    fact = "the longest texts are in order.the text, others in order.from, users.from, users.the text"
    assert f"limit: {fact}\n" in ran.err
    command = ran.err.partition("fix:   ")[2].partition(" # and name it, or --format text")[0]
    assert [path.name for path in Path().iterdir()] == [name]
    subprocess.run(["bash", "-c", command], check=True)
    assert Path(name).read_bytes() == data
    target = f"{Path(name).stem}-text.jsonl"
    assert slmtok("count", target, "-o", "a.counts", "--json").json["result"]["documents"] == 3


@pytest.mark.parametrize("data", [b"SQLite format 3\0", b"SQLite format 3\0" + b"\1" * 4096])
def test_a_damaged_database_is_refused(slmtok, data: bytes) -> None:
    Path("a.db").write_bytes(data)
    ran = slmtok("count", "a.db", "-o", "a.counts")
    assert "'a.db' is an SQLite database, not text" in ran.err
    assert "fix:   convert it to text or .jsonl, or --format text" in ran.err


def test_a_database_without_texts_has_no_command(slmtok) -> None:
    written("a.db", {"empty": []})
    assert "fix:   convert it to text or .jsonl" in slmtok("count", "a.db", "-o", "a.counts").err
