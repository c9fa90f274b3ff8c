"""Shared fixtures: one small trained tokenizer a scheme."""

from __future__ import annotations

import pytest
from story_texts import story_texts

import slmtok


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
