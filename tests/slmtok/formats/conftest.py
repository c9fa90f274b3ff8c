"""A small tokenizer to hand to other libraries."""

from __future__ import annotations

import pytest
from story_texts import story_texts

import slmtok


@pytest.fixture(scope="session")
def bpe400() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(story_texts()), vocab_size=400)
