"""The engine's pattern for what a caller asks for, and for what a vocabulary records of one."""

from __future__ import annotations

import re

from slmtok._engine import UNICODE_VERSION, Pattern, pattern_names
from slmtok.errors import CorruptFile, OptionError, UnknownName, UnsupportedVersion, WrongType, suggestion
from slmtok.vocabulary import PatternSpec

OF_ENCODING = {
    "r50k_base": "gpt2",
    "p50k_base": "gpt2",
    "p50k_edit": "gpt2",
    "cl100k_base": "cl100k",
    "o200k_base": "o200k",
}
"""The pattern of tiktoken's encodings, whose names are easily taken for it."""
_WORD = re.compile(r"[A-Za-z0-9_-]+")


def asked_for(spec: str) -> Pattern:
    """The pattern of this name, or of this regex.

    One word without any sign of a regex is meant as a name. Raises `UnknownName` for one that is none,
    `InvalidPattern`, `OptionError` (empty), `WrongType`.
    """
    if not isinstance(spec, str):
        raise WrongType(f"pattern= must be a name or a regex, not {type(spec).__name__}", fix="pattern='slm'")
    names = pattern_names()
    if not spec:
        raise OptionError(
            "pattern= is empty", limit=f"{', '.join(names)}, or a regex", fix="pattern='slm'", option="pattern"
        )
    if _WORD.fullmatch(spec):
        pattern = Pattern(spec)
        if pattern.name is None:
            raise _slip(spec, names)
        return pattern
    return Pattern(spec)


def _slip(word: str, names: list[str]) -> UnknownName:
    """The error for a word that is no name: as a regex it would cut out that word alone, which nobody wants."""
    meant = _meant(word, names)
    return UnknownName(
        f"unknown pattern {word!r}" + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"known: {', '.join(names)}, or any regex",
        fix=f"pattern={meant or names[0]!r}, or pattern='(?:{word})' for the regex",
        name=word,
    )


def _meant(word: str, names: list[str]) -> str | None:
    """The name that a word is a slip of, or whose encoding it names."""
    return OF_ENCODING.get(word.lower()) or suggestion(word.replace("_", "-"), names)


def compile_pattern(spec: PatternSpec) -> Pattern:
    """The engine's pattern for what a file records. Raises `UnsupportedVersion`, `CorruptFile`, `InvalidPattern`."""
    if spec.unicode != UNICODE_VERSION:
        raise UnsupportedVersion(
            f"the pattern was made for Unicode {spec.unicode}",
            limit=f"this package has Unicode {UNICODE_VERSION}",
            fix="use the version of slmtok that wrote the file, or train again",
        )
    if spec.name is None:
        return Pattern(spec.regex)
    pattern = Pattern(spec.name)
    if pattern.name != spec.name:
        raise UnsupportedVersion(
            f"the pattern {spec.name!r} is not known here",
            limit=f"known: {', '.join(pattern_names())}",
            fix="use the version of slmtok that wrote the file",
        )
    if pattern.regex != spec.regex:
        raise CorruptFile(
            f"the pattern {spec.name!r} has another regex here than the file says",
            fix="fetch the file again, or train again",
        )
    return pattern
