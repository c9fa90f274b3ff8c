"""Corpora that are something else than they are read as: what the errors and the notes of a command say of them."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

SENTENCE = "the evening river went through the old town and the children sang"
ROWS = [f"{SENTENCE} {number}" for number in range(40)]


def fix_of(slmtok, line: str) -> str:
    """The fix of a command that is refused and leaves nothing."""
    before = {*Path().rglob("*")}
    ran = slmtok(*shlex.split(line))
    assert ran.code in (1, 2), ran
    assert {*Path().rglob("*")} == before
    return next(each.removeprefix("  fix:   ") for each in ran.err.splitlines() if each.startswith("  fix:   "))


def write_records(name: str, records: list[dict[str, object]]) -> None:
    Path(name).write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("at", [0, 20])
def test_a_record_without_text_among_others_is_skipped(slmtok, at: int) -> None:
    records = [{"genre": "news", "text": None if number == at else row} for number, row in enumerate(ROWS)]
    write_records("nulls.jsonl", records)
    Path("nulls.json").write_text(json.dumps(records))
    for name in ("nulls.jsonl", "nulls.json"):
        fix = fix_of(slmtok, f"count {name} -o new.counts")
        assert fix == "--skip-malformed to skip such records; the summary counts them"
        ran = slmtok("count", name, "-o", f"{name}.counts", "--skip-malformed", "--json")
        assert ran.json["result"]["documents"] == len(ROWS) - 1


def test_a_path_of_fields_is_written_as_a_field(slmtok) -> None:
    write_records("nested.jsonl", [{"id": 1, "genre": "news", "text": {"full": row}} for row in ROWS])
    fix = fix_of(slmtok, "count nested.jsonl --text-key text.full -o new.counts")
    command, _, named = fix.rpartition(", and ")
    assert named == "name it"
    subprocess.run(command, shell=True, check=True)
    ran = slmtok("count", "nested-text.jsonl", "--text-key", "text.full", "-o", "new.counts", "--json")
    assert ran.json["result"]["documents"] == len(ROWS)
    assert ran.json["result"]["bytes"] == sum(map(len, ROWS))
    Path("nested.jsonl").rename("nested.ndjson")
    fix = fix_of(slmtok, "count nested.ndjson --text-key text.full -o other.counts")
    assert fix == "write row['text']['full'] of each row as a field 'text.full' of its own"
