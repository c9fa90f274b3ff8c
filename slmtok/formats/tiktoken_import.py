"""Reading tiktoken's files for `slmtok import`: a rank file, or the side file that an export wrote beside one.

A rank file knows neither pattern nor specials: the pattern must be told, unless it is the file of a public encoding.
The side file knows both. Ids are kept; what we exported ourselves comes back with its fingerprint.
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
    """The tokenizer of a rank file or a side file. Raises what `from_tiktoken` raises, and `CorruptFile`."""
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
    """The rank file beside a side file."""
    return Path(source).parent / Path(side["ranks"]).name


def as_own(tokenizer: Tokenizer) -> Tokenizer:
    """The same in our layout, where its ids stand as in ours; otherwise as it is."""
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
    """The rank file in tiktoken, with the pattern that the import has: texts to ids, nothing special."""
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
