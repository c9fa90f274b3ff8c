"""The rules of `allowed_special` and `disallowed_special`: what is refused, and where text is cut."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from slmtok.errors import SpecialInText, WrongType

Allowed: TypeAlias = Literal["all", "none", "none_raise"] | Collection[str]
Disallowed: TypeAlias = Literal["all"] | Collection[str] | None
"""None refuses nothing, where one text is encoded; a batch does not take it. Both as in tiktoken."""


@dataclass(frozen=True)
class Rules:
    """One call's decision: spellings that become control ids, spellings that refuse the text."""

    allowed: frozenset[str]
    refused: frozenset[str]

    @classmethod
    def of(cls, known: Collection[str], allowed: Allowed, disallowed: Disallowed) -> Rules:
        """tiktoken's two arguments, and minbpe's `none` (all is text) and `none_raise` (all is refused)."""
        everything = frozenset(known)
        if allowed == "none":
            return cls(frozenset(), frozenset())
        if allowed == "none_raise":
            return cls(frozenset(), everything)
        chosen = everything if allowed == "all" else _names(allowed, "allowed_special")
        refused = everything - chosen if disallowed == "all" else _names(disallowed, "disallowed_special")
        return cls(chosen & everything, refused)

    def check(self, text: str, *, roles: Mapping[str, str], place: str = "") -> None:
        """Raises `SpecialInText` for the first refused spelling in the text; `place` says which document it is."""
        found = _finder(self.refused).search(text) if self.refused else None
        if found is None:
            return
        special, role = found.group(), roles.get(found.group())
        lines = [
            f"text contains the special {special!r} at character {found.start():,}{place}",
            "to read it as text:     encode_ordinary(text), or disallowed_special=()",
            f"to mean the special:    allowed_special={{{special!r}}}",
        ]
        if role is not None:
            lines.append(f"to re-spell specials:   as_tiktoken(tok, spell={{{role!r}: '<|{role}|>'}})")
        raise SpecialInText("\n".join(lines), special=special, position=found.start())

    def cut(self, text: str) -> list[str]:
        """The text cut at allowed specials: text and specials alternate, text first and last."""
        return _finder(self.allowed).split(text) if self.allowed else [text]


def _names(names: object, option: str) -> frozenset[str]:
    found = [] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    if not isinstance(names, Iterable) or isinstance(names, str) or not all(isinstance(name, str) for name in found):
        raise WrongType(f"{option} must be 'all' or a set of spellings, not {names!r}", fix=f"{option}={{'…'}}")
    return frozenset(name for name in found if name)


def _finder(spellings: Collection[str]) -> re.Pattern[str]:
    """Leftmost, of equals the longest."""
    return re.compile("(" + "|".join(map(re.escape, sorted(spellings, key=lambda text: (-len(text), text)))) + ")")
