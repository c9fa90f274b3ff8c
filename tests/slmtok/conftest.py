"""Shared fixtures: one small trained tokenizer a scheme, and how much of an export is compared."""

from __future__ import annotations

import pytest
from export_effort import QUICK
from story_texts import story_texts

import slmtok
from slmtok.formats import verification


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "FULL", QUICK)


@pytest.fixture(scope="session", params=["bpe", "word", "char", "byte"])
def tok(request: pytest.FixtureRequest) -> slmtok.Tokenizer:
    return slmtok.train(
        slmtok.Texts(story_texts()),
        vocab_size=272 if request.param == "byte" else 400,
        scheme=request.param,
        allow_smaller=True,
    )


@pytest.fixture(scope="session")
def bpe() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(story_texts()), vocab_size=400)
