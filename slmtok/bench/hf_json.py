"""A vocabulary as a Hugging Face `tokenizer.json`, for peers that read nothing else. No export: nothing is verified."""

from __future__ import annotations

from slmtok.formats.hf import splitter, tokenizer_json

__all__ = ["splitter", "tokenizer_json"]
