"""A tokenizer, and its export as the installed `transformers` loads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_data import peer
from story_texts import story_texts

import slmtok
from slmtok.formats import hf as hf_format


@pytest.fixture(scope="session")
def bpe400() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(story_texts()), vocab_size=400)


@pytest.fixture(scope="session")
def reference(bpe400: slmtok.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """`reference(padding_side="left")`: the export as `PreTrainedTokenizerFast`."""
    transformers = peer("transformers")
    folder: Path = tmp_path_factory.mktemp("hf")

    def make(*, add_eos: bool = False, **settings: Any) -> Any:
        for name, content in hf_format.files(bpe400, "x", add_eos=add_eos).items():
            (folder / name).write_bytes(content)
        return transformers.PreTrainedTokenizerFast.from_pretrained(folder, **settings)

    return make
