"""A small tokenizer, a corpus of some hundred documents, and folders compared byte by byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import slmtok
from slmtok.stories import story


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """400 short documents, an empty one and one outside ASCII among them."""
    found = [story(index)[:300] for index in range(400)]
    found[7], found[11] = "", "naïve 😀 日本語\n"
    return found


@pytest.fixture(scope="session")
def tokenizer(texts: list[str]) -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(texts), vocab_size=600)


@pytest.fixture(scope="session")
def records(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents as a jsonl file."""
    path = tmp_path_factory.mktemp("corpus") / "docs.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return path
