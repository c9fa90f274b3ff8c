"""Reads tiktoken's files: a rank file, or the side file of an export, which adds pattern and special tokens.

A rank file needs a pattern, unless it is the file of a public encoding. Ids are kept; our own exports keep their
fingerprint.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptFile
from slmtok.formats.base import Encode, module
from slmtok.formats.own_layout import is_own, own_vocabulary
from slmtok.formats.tiktoken import MAX_BYTES, from_tiktoken
from slmtok.specials import FIRST_LEARNED

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

_RANK = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?(?:\n|\Z)")


def looks_like(data: bytes) -> bool:
    """Whether a file may be a rank file, or the side file of one."""
    return _RANK.match(data) is not None or _side(data) is not None


def _side(data: bytes) -> dict[str, Any] | None:
    """The content of a side file; None for any other file."""
    if not data.lstrip().startswith(b"{") or b'"pat_str"' not in data[:100_000]:
        return None
    try:
        content = json.loads(data)
    except ValueError:
        return None
    wanted = {"name": str, "pat_str": str, "ranks": str, "special_tokens": dict}
    if not isinstance(content, dict) or not all(isinstance(content.get(key), of) for key, of in wanted.items()):
        return None
    return content


def read(data: bytes, source: str, *, pattern: str | None = None) -> Tokenizer:
    """The tokenizer of a rank file or a side file. Raises `CorruptFile`, and as `from_tiktoken`."""
    side = _side(data)
    if side is None:
        return as_own(from_tiktoken(source, pattern=pattern))
    tokenizer = from_tiktoken(
        ranks_path(source, side),
        pattern=pattern or side["pat_str"],
        specials=side["special_tokens"],
        name=side["name"],
    )
    digest, expected = tokenizer.provenance["source_sha256"], side.get("ranks_sha256")
    if expected is not None and digest != expected:
        raise CorruptFile(
            f"{side['ranks']!r} is not the rank file that {source} was written with",
            where=f"its sha256 is {str(digest)[:16]}…, expected {str(expected)[:16]}…",
            fix="copy both files again",
            path=source,
        )
    return as_own(tokenizer)


def ranks_path(source: str, side: dict[str, Any]) -> Path:
    """The rank file of a side file."""
    return Path(source).parent / Path(side["ranks"]).name


def as_own(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer in our layout, if its ids are in that order."""
    from slmtok.tokenizer import Tokenizer

    old = tokenizer.vocabulary
    specials = tokenizer.specials.spellings
    if not is_own(old.tokens, specials):
        return tokenizer
    parts = [tokenizer._encoder.parts(id) for id in range(FIRST_LEARNED, old.n_vocab)]
    if None in parts:
        return tokenizer
    merges = [pair for pair in parts if pair is not None]
    own = own_vocabulary("bpe", old.pattern, old.tokens, specials, merges)
    return tokenizer if own is None else Tokenizer(own, provenance=tokenizer.provenance)


def open_source(path: str, tokenizer: Tokenizer) -> Encode:
    """Encodes with the rank file in tiktoken, special tokens treated as text."""
    from slmtok.files import read_file
    from slmtok.formats.tiktoken import read_ranks

    tiktoken = module("tiktoken")
    data = read_file(path, MAX_BYTES + 1)
    side = _side(data)
    if side is not None:
        data = read_file(ranks_path(path, side), MAX_BYTES + 1)
    encoding = tiktoken.Encoding(
        "import",
        pat_str=side["pat_str"] if side is not None else tokenizer.pattern.regex,
        mergeable_ranks=read_ranks(data, source=path),
        special_tokens=dict(tokenizer.specials.spellings),
    )

    def encode(texts: list[str]) -> list[list[int]]:
        return [encoding.encode_ordinary(text) for text in texts]

    return encode
