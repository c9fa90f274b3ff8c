"""Other libraries' names for what we do: change the import, keep the program.

A module here imitates names, defaults and exceptions of one library; its ids and merges are those of our engine, which
tests hold to that library. Where we differ on purpose the module says so. None of the libraries is needed or imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["COMPAT", "Compat"]


@dataclass(frozen=True)
class Compat:
    """Where a library's names live here, and what they are, in a line."""

    module: str
    summary: str


COMPAT: Mapping[str, Compat] = {
    "tiktoken": Compat("slmtok.compat.tiktoken", "tiktoken 0.14: Encoding, get_encoding, load"),
    "hf": Compat("slmtok.compat.hf", "transformers 5: what tok.as_hf() gives, for training scripts"),
    "rustbpe": Compat("slmtok.compat.rustbpe", "rustbpe 0.1: Tokenizer that trains from an iterator"),
    "nanochat": Compat("slmtok.compat.nanochat", "nanochat: RustBPETokenizer with its nine specials"),
    "sentencepiece": Compat("slmtok.compat.sentencepiece", "SentencePiece 0.2: SentencePieceProcessor on our files"),
    "tokenizers": Compat("slmtok.compat.tokenizers", "tokenizers 0.23: ByteLevelBPETokenizer, DecodeStream"),
    "minbpe": Compat("slmtok.compat.minbpe", "minbpe: BasicTokenizer, RegexTokenizer with save and load"),
    "cs336": Compat("slmtok.compat.cs336", "CS336: train_bpe and a Tokenizer from vocab and merges"),
}
