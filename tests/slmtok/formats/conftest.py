"""Small tokenizers to hand to other libraries, and how much is compared in a test."""

from __future__ import annotations

import pytest
from story_texts import story_texts

import slmtok
from slmtok.formats import verification

QUICK = verification.Effort(text_bytes=30_000, fuzz=300, code_points=97)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons take a moment, not half a minute; one test does all of it."""
    monkeypatch.setattr(verification, "FULL", QUICK)


@pytest.fixture(scope="session")
def bpe400() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(story_texts()), vocab_size=400)
