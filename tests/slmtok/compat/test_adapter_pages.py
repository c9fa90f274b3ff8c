"""What an adapter lacks of the installed library, its page lists."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_data import peer

import slmtok
from slmtok.compat import as_hf
from slmtok.compat import tokenizers as byte_level

pytestmark = pytest.mark.peer

GUIDE = Path(__file__).parents[3] / "docs/guide"
INTERNAL = {
    "SPECIAL_TOKENS_ATTRIBUTES", "backend", "can_save_slow_tokenizer", "clean_up_tokenization_spaces",
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", "convert_added_tokens",
    "convert_to_native_format", "deprecation_warnings", "files_loaded", "init_inputs", "init_kwargs", "model",
    "pretrained_vocab_files_map", "register_for_auto_class", "slow_tokenizer_class", "verbose", "vocab_files_names",
}  # fmt: skip
"""Members of `transformers` that programs do not call."""


def public(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def unlisted(page: str, names: set[str]) -> set[str]:
    text = (GUIDE / page).read_text(encoding="utf-8")
    return {name for name in names if f"`{name}`" not in text}


def test_transformers(bpe400: slmtok.Tokenizer, reference: Callable[..., Any]) -> None:
    theirs, ours = reference(), as_hf(bpe400)
    page = "hugging-face.md"
    assert not unlisted(page, public(theirs) - public(ours) - INTERNAL)
    assert not unlisted(page, public(theirs("a")) - public(ours("a")))
    options = set(inspect.signature(theirs.__call__).parameters) - set(inspect.signature(ours.__call__).parameters)
    assert not unlisted(page, options - {"kwargs"})


def test_tokenizers(bpe400: slmtok.Tokenizer) -> None:
    theirs, ours = peer("tokenizers"), byte_level.ByteLevelBPETokenizer(bpe400)
    assert not unlisted("python-api.md", public(theirs.ByteLevelBPETokenizer()) - public(ours))
    assert not unlisted("python-api.md", public(theirs.Encoding) - public(ours.encode("a")))


def test_tiktoken() -> None:
    from slmtok.compat import tiktoken as ours

    assert not unlisted("python-api.md", public(peer("tiktoken")) - public(ours))
