"""tiktoken's names on our engine: `import slmtok.compat.tiktoken as tiktoken` is all that a program needs to change.

Names, defaults and exceptions are those of tiktoken 0.14.0. On purpose it differs in these: text that the pattern does
not match is kept; `eot_token` is found by its role; `decode_with_offsets` takes bytes that are no UTF-8; a lone `str`
given to a batch call is a `TypeError`; bad sizes are `ValueError`; pickles carry the content; files come from
tiktoken's cache folder, never from the network; exceptions are classes of `slmtok.errors` that inherit the built-in
ones.
"""

from __future__ import annotations

from slmtok.compat.tiktoken import load
from slmtok.compat.tiktoken.core import Encoding
from slmtok.compat.tiktoken.registry import get_encoding, list_encoding_names
from slmtok.compat.tiktoken.view import from_tokenizer

__all__ = ["Encoding", "from_tokenizer", "get_encoding", "list_encoding_names", "load"]

_NOT_OFFERED = ("encoding_for_model", "encoding_name_for_model")


def __getattr__(name: str) -> object:
    if name in _NOT_OFFERED:
        raise AttributeError(
            f"{name} is not offered: tables of model names age; name the encoding: get_encoding('o200k_base')"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
