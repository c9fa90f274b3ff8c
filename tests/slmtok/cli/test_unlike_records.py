"""Records that lack the field of the text which others of their file have: no other field becomes the text of all."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from printed_fixes import fix_of

SKIP = "--skip-malformed to skip such records; the summary counts them"
NAMES = ["docs.json", "docs.jsonl"]
TEXTS = [{"url": f"https://example.org/{at}", "text": f"It rained on day {at}."} for at in range(9)]


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """The rows as an array of JSON, or one a line."""
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    Path(name).write_text(lines if name.endswith("l") else json.dumps(rows, indent=1))


@pytest.mark.parametrize("at", [0, 9])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "other",
    [
        {"url": "https://example.org/a/page/of/a/name/that/is/long"},
        {"subtype": "bot_message", "ts": "1.2", "type": "message"},
        {"paragraphs": ["The harbour was quiet on this day, and the boats lay still.", "It rained."]},
    ],
)
def test_a_record_that_lacks_the_text_is_skipped(slmtok, name: str, at: int, other: dict[str, Any]) -> None:
    rows = [{**row, "type": "message"} for row in TEXTS]
    write(name, [*rows[:at], other, *rows[at:]])
    ran = slmtok("count", name, "-o", "x")
    assert "limit: other records of the file have 'text'\n" in ran.err
    assert fix_of(ran) == SKIP
    result = slmtok("count", name, "--skip-malformed", "-o", "x", "--json").json["result"]
    assert (result["documents"], result["bytes"]) == (len(rows), sum(len(row["text"]) for row in rows))


@pytest.mark.parametrize("name", NAMES)
def test_an_address_is_not_the_text_of_a_record(slmtok, name: str) -> None:
    write(name, [{"text": "It rained."}, {"url": "https://example.org/a"}])
    assert fix_of(slmtok("count", name, "-o", "x")) == SKIP


@pytest.mark.parametrize("field", ["content", "title"])
@pytest.mark.parametrize("name", NAMES)
def test_a_text_under_another_name_gets_that_of_the_others(slmtok, name: str, field: str) -> None:
    write(name, [{"text": "It rained."}, {field: "The sun shone."}])
    command, _, rest = fix_of(slmtok("count", name, "-o", "x")).partition(" # and name it; or ")
    assert rest == SKIP
    subprocess.run(command, shell=True, check=True)
    result = slmtok("count", "docs-text.jsonl", "-o", "x", "--json").json["result"]
    assert result["bytes"] == len("It rained.The sun shone.")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_all_records_have_may_be_meant(slmtok, name: str) -> None:
    """Most records would be skipped."""
    write(name, [{"content": f"It rained on day {at}.", **({"text": "short"} if at == 5 else {})} for at in range(9)])
    assert fix_of(slmtok("count", name, "-o", "x")).startswith("--text-key content if all records have it, else ")
    assert slmtok("count", name, *shlex.split("--text-key content"), "-o", "x").code == 0
