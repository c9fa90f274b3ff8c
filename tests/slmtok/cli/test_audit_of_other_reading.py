"""`slmtok audit` of data that were packed with other options of reading: the note names these, not another text."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

STORY = "\n\n".join(f"It rained on day {at}.\nThe harbour was quiet." for at in range(60))


@pytest.fixture
def tok(slmtok) -> None:
    Path("story.txt").write_text(STORY)
    Path("docs.jsonl").write_text(
        "".join(json.dumps({"url": f"u{at}", "content": f"It rained on day {at}. " * 9}) + "\n" for at in range(60))
    )
    Path("folder").mkdir()
    Path("folder/a.txt").write_text(STORY)
    Path("folder/b.md").write_text("# A story")
    assert slmtok("train", "story.txt", "--vocab", "280", "-o", "tok.json").code == 0


@pytest.mark.parametrize(
    ("text", "packed", "given", "note"),
    [
        ("story.txt", r"--separator '\n\n'", r"--separator '\n'", r"with --separator '\n\n': run it again with that"),
        ("story.txt", "--document line", r"--separator '\n\n'", r"with --document line and without --separator '\n\n'"),
        ("story.txt", "", r"--separator '\n\n'", r"without --separator '\n\n': run it again the same way"),
        ("story.txt", "", "--document line", "without --document line: run it again the same way"),
        (
            "docs.jsonl",
            "--text-key content",
            "--text-key url",
            "with --text-key content: run it again with that option",
        ),
        ("docs.jsonl", "--text-key content --max-docs 9", "--text-key content", "with --max-docs 9: run it again with"),
        (
            "docs.jsonl",
            "--text-key content --max-docs 9",
            "--text-key url",
            "with --text-key content --max-docs 9: run",
        ),
        ("folder", "--exclude '*.md'", "", "with --exclude '*.md': run it again with that option"),
        (
            "docs.jsonl",
            "--text-key content --sample 50% --seed 3",
            "--text-key content",
            "with --sample 0.5 --seed 3: run it again with those options",
        ),
    ],
)
def test_other_options_of_reading_are_named(slmtok, tok, text: str, packed: str, given: str, note: str) -> None:
    assert slmtok("pack", text, "-t", "tok.json", "-o", "data", *shlex.split(packed)).code == 0
    ran = slmtok("audit", "data", "--on", text, *shlex.split(given))
    assert ran.code == 3
    assert f"note: the data were packed {note}" in ran.err
    assert "not the one that was packed" not in ran.err
    assert slmtok("audit", "data", "--on", text, *shlex.split(packed)).code == 0


def test_a_text_of_the_same_options_is_another_one(slmtok, tok) -> None:
    assert slmtok("pack", "story.txt", "-t", "tok.json", "-o", "data").code == 0
    Path("longer.txt").write_text(f"{STORY}\nThe end.")
    for name in ("longer.txt", "folder/b.md"):
        assert "it is not the one that was packed" in slmtok("audit", "data", "--on", name, "--force").err


def test_a_limit_of_packing_is_not_another_text(slmtok, tok) -> None:
    line = ["--document", "line", "--max-tokens", "100"]
    assert slmtok("pack", "story.txt", "-t", "tok.json", "-o", "data", *line).code == 0
    ran = slmtok("audit", "data", "--on", "story.txt", "--document", "line")
    assert "note: the data were packed with --max-tokens 100, and hold " in ran.err
    assert "not the one that was packed" not in ran.err
