"""`get_encoding` and `list_encoding_names`: the public encodings, read from tiktoken's cache folder."""

from __future__ import annotations

from functools import lru_cache

from slmtok.compat.tiktoken.core import Encoding
from slmtok.errors import UnknownName


def get_encoding(encoding_name: str) -> Encoding:
    """A public encoding. Raises `UnknownName` (a `ValueError`), and `MissingInput` where its rank file is not here."""
    from slmtok.formats.tiktoken import find_ranks

    if not isinstance(encoding_name, str):
        raise UnknownName(
            f"an encoding is named by a str, not by {type(encoding_name).__name__}", fix="get_encoding('cl100k_base')"
        )
    return _read(encoding_name, str(find_ranks(encoding_name)))


@lru_cache(maxsize=8)
def _read(name: str, path: str) -> Encoding:
    """Read once for each file, since programs call `get_encoding` freely; an `Encoding` never changes."""
    from slmtok.compat.tiktoken.view import from_tokenizer
    from slmtok.formats.tiktoken import from_tiktoken

    return from_tokenizer(from_tiktoken(name), name=name)


def list_encoding_names() -> list[str]:
    """The names that `get_encoding` knows."""
    from slmtok.formats.tiktoken import ENCODINGS

    return list(ENCODINGS)
