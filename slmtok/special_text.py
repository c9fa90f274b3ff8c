"""Finding special tokens in text: only those that a call allows by name, leftmost first, then longest."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeAlias

from slmtok.errors import WrongType
from slmtok.specials import Specials

AllowSpecial: TypeAlias = Collection[str]
"""Roles or spellings, or the one word "all"."""


def allowed(specials: Specials, names: Iterable[str]) -> dict[str, int]:
    """Spelling to id of the specials that `names` (roles, spellings, or "all") stand for. Raises `UnknownSpecial`."""
    if isinstance(names, str):
        if names != "all":
            raise WrongType(f"allow_special={names!r} is one string", fix=f"allow_special={{{names!r}}}")
        return specials.spellings
    if isinstance(names, (bytes, bytearray)) or not isinstance(names, Iterable):
        raise WrongType(
            f"allow_special must name specials, not be {type(names).__name__}", fix="allow_special={'bos', 'eos'}"
        )
    tokens = [specials.find(name) for name in names]
    return {token.text: token.id for token in tokens if token.text is not None}


def split(text: str | bytes, spellings: dict[str, int]) -> list[str | bytes | int]:
    """The text cut at every spelling: stretches of text (none empty) and ids, in order."""
    longest_first = sorted(spellings, key=len, reverse=True)
    parts: list[str | bytes | int] = []
    if isinstance(text, str):
        found = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)
        parts.extend(spellings[part] if index % 2 else part for index, part in enumerate(found))
    else:
        raw = {spelling.encode(): id for spelling, id in spellings.items()}
        longest = sorted(raw, key=len, reverse=True)
        cut = re.split(b"(" + b"|".join(map(re.escape, longest)) + b")", text)
        parts.extend(raw[part] if index % 2 else part for index, part in enumerate(cut))
    return [part for part in parts if isinstance(part, int) or part]
