"""Adapters with the names of other libraries: replace the import, keep the program.

Each module has the names, defaults and exceptions of one library on our engine; tests compare ids and merges with that
library. Its docstring lists intended differences. None of the libraries is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmtok.compat.hf import HFTokenizer
    from slmtok.compat.tiktoken import Encoding
    from slmtok.tokenizer import Tokenizer

__all__ = ["COMPAT", "Compat", "as_hf", "as_tiktoken"]


@dataclass(frozen=True)
class Compat:
    """The module of a library's names, and its content in one line."""

    module: str
    summary: str


COMPAT: Mapping[str, Compat] = {
    "tiktoken": Compat("slmtok.compat.tiktoken", "tiktoken 0.14: Encoding, get_encoding, load"),
    "hf": Compat("slmtok.compat.hf", "transformers 5: what as_hf(tok) gives, for training scripts"),
    "rustbpe": Compat("slmtok.compat.rustbpe", "rustbpe 0.1: Tokenizer that trains from an iterator"),
    "nanochat": Compat("slmtok.compat.nanochat", "nanochat: RustBPETokenizer with its nine specials"),
    "sentencepiece": Compat("slmtok.compat.sentencepiece", "SentencePiece 0.2: SentencePieceProcessor on our files"),
    "tokenizers": Compat("slmtok.compat.tokenizers", "tokenizers 0.23: ByteLevelBPETokenizer, DecodeStream"),
    "minbpe": Compat("slmtok.compat.minbpe", "minbpe: BasicTokenizer, RegexTokenizer with save and load"),
    "cs336": Compat("slmtok.compat.cs336", "CS336: train_bpe and a Tokenizer from vocab and merges"),
}


def as_tiktoken(tokenizer: Tokenizer, spell: Mapping[str, str] | None = None) -> Encoding:
    """A tiktoken-shaped `Encoding` of a tokenizer; `spell` (role to spelling) gives specials another spelling in it."""
    from slmtok.compat.tiktoken import from_tokenizer

    return from_tokenizer(tokenizer, spell=spell)


def as_hf(
    tokenizer: Tokenizer,
    *,
    add_eos: bool = False,
    pad: str = "pad",
    model_max_length: int | None = None,
    padding_side: str = "right",
    truncation_side: str = "right",
) -> HFTokenizer:
    """A tokenizer as Hugging Face scripts call one: `as_hf(tok)(texts, truncation=True, max_length=512)`.

    add_eos: end each text with `eos` unless a call says otherwise. pad: role or spelling of the padding.
    """
    from slmtok.compat._hf_rows import UNLIMITED, Settings
    from slmtok.compat.hf import HFTokenizer

    limit = UNLIMITED if model_max_length is None else model_max_length
    return HFTokenizer(tokenizer, Settings(add_eos, pad, limit, padding_side, truncation_side))
