"""Chat records whose messages hold a list of parts: the command of the fix makes text of them."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

TEXT, PICTURE = {"type": "text", "text": "one harbour"}, {"type": "image_url", "image_url": {"url": "x"}}


def message(role: str, content: object) -> dict[str, object]:
    return {"role": role, "content": content}


ROWS = {
    "text and parts": [{"messages": [message("user", "Hi"), message("assistant", [TEXT])]}],
    "parts alone": [{"messages": [message("user", [TEXT]), message("assistant", [TEXT])]}],
    "pictures first": [{"messages": [message("user", [PICTURE, TEXT]), message("assistant", "Yes")]}],
    "an identifier": [{"id": "x-1", "messages": [message("user", [PICTURE, TEXT])]}],
    "no content": [{"messages": [message("user", "Hi"), message("assistant", None), {"role": "tool"}]}],
    "parts in a later row": [
        {"messages": [message("user", "Hi")]},
        {"messages": [message("user", [PICTURE, TEXT]), message("assistant", None)]},
    ],
    "one list": [{"content": [PICTURE, TEXT]}],
}
TEXTS = {
    "text and parts": ["Hi\none harbour"],
    "parts alone": ["one harbour\none harbour"],
    "pictures first": ["one harbour\nYes"],
    "an identifier": ["one harbour"],
    "no content": ["Hi"],
    "parts in a later row": ["Hi", "one harbour"],
    "one list": ["one harbour"],
}


@pytest.mark.parametrize("kind", ROWS)
def test_the_command_makes_text_of_parts(slmtok, kind):
    Path("chat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS[kind]))
    err = slmtok("count", "chat.jsonl", "-o", "x").err
    command, _, named = err.partition("  fix:   ")[2].partition(" # and name ")
    subprocess.run(command, shell=True, check=True)
    made = shlex.split(command)[-1]
    assert named.startswith("it")
    assert [json.loads(line)["text"] for line in Path(made).read_text().splitlines()] == TEXTS[kind]
