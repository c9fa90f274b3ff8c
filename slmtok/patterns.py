"""The engine's pattern for a caller's name or regex, and for what a vocabulary records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slmtok._engine import UNICODE_VERSION, Pattern, byte_automaton
from slmtok._engine import pattern_names as pattern_names
from slmtok.errors import (
    CorruptFile,
    InvalidPattern,
    OptionError,
    Setting,
    UnknownName,
    UnsupportedVersion,
    WrongType,
    suggestion,
)
from slmtok.model_encodings import encoding_meant
from slmtok.vocabulary import PatternSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TIKTOKEN_PATTERNS = {
    "r50k_base": "gpt2",
    "p50k_base": "gpt2",
    "p50k_edit": "gpt2",
    "cl100k_base": "cl100k",
    "o200k_base": "o200k",
    "o200k_harmony": "o200k",
}
"""Pattern of each of tiktoken's encodings, whose names are easily confused with pattern names."""
_WORD = re.compile(r"[A-Za-z0-9_-]+")


def parse_pattern(spec: str) -> Pattern:
    """The pattern of this name, or of this regex.

    A word without any regex syntax is a name. Raises `UnknownName` for an unknown one, `InvalidPattern`,
    `OptionError` (empty), `WrongType`.
    """
    if not isinstance(spec, str):
        raise WrongType(
            (Setting("pattern"), f" must be a name or a regex, not {type(spec).__name__}"),
            fix=(Setting("pattern", "slm"),),
        )
    names = pattern_names()
    if not spec:
        raise OptionError(
            (Setting("pattern"), " is empty"),
            limit=f"{', '.join(names)}, or a regex",
            fix=(Setting("pattern", "slm"),),
            option="pattern",
        )
    if _WORD.fullmatch(spec):
        pattern = Pattern(spec)
        if pattern.name is None:
            raise _unknown_pattern(spec, names)
        return pattern
    return custom_pattern(spec)


def custom_pattern(regex: str) -> Pattern:
    """The pattern of a regex. Raises `InvalidPattern`, also for half of a surrogate pair, which no text has."""
    _require_unicode(regex)
    return Pattern(regex)


def _require_unicode(regex: str) -> None:
    try:
        regex.encode()
    except UnicodeEncodeError as error:
        reason = "half of a surrogate pair"
        raise InvalidPattern(
            f"pattern {regex[:80]!r} has {reason}",
            where=f"character {error.start} of the pattern",
            fix="correct the regex; it is given in UTF-8",
            pattern=regex,
            reason=reason,
            position=error.start,
        ) from None


def _unknown_pattern(word: str, names: list[str]) -> UnknownName:
    """The error for an unknown word: as a regex it would only split off that word."""
    meant = _meant(word, names)
    regex = Setting("pattern", f"(?:{word})")
    return UnknownName(
        f"unknown pattern {word!r}" + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"known: {', '.join(names)}, or any regex",
        fix=(Setting("pattern", meant), ", or ", regex, " for the regex")
        if meant
        else ("one of the known names; ", Setting("pattern", names[0]), " is the default; ", regex, " is the regex"),
        name=word,
    )


def pattern_meant(word: str) -> str | None:
    """The pattern that a word stands for, as in the fix of the error for it; None for other words."""
    return _meant(word, pattern_names())


def _meant(word: str, names: list[str]) -> str | None:
    """The name that a word misspells, or the pattern of the encoding, or of the model, that it names."""
    encoding = encoding_meant(word) or word.lower()
    # Pre-tokenization of the package tokenizers, which splits as GPT-2 does.
    near = "gpt2" if encoding.replace("_", "") == "bytelevel" else suggestion(word.replace("_", "-"), names)
    return TIKTOKEN_PATTERNS.get(encoding) or near or TIKTOKEN_PATTERNS.get(suggestion(word, TIKTOKEN_PATTERNS) or "")


def compile_automaton(regex: str) -> tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.bool_]]:
    """The automaton over bytes of the texts that a regular expression matches as a whole.

    Gives the class of each byte, uint8 [256]; the next state of each state and class, uint32 [states * classes], with
    2^32 - 1 for none; and which states match, bool [states]. State 0 is the start. Raises `InvalidPattern`, also for
    look-around, backreferences and an expression that is too large; `WrongType`.
    """
    if not isinstance(regex, str):
        pattern = getattr(regex, "pattern", None)
        fix = f"regex={pattern!r}" if isinstance(pattern, str) else "regex='[0-9]+', for instance"
        raise WrongType(f"regex must be a str, not {type(regex).__name__}", fix=fix)
    _require_unicode(regex)
    try:
        return byte_automaton(regex)
    except InvalidPattern as error:
        at = error.fields["position"]
        raise InvalidPattern(
            f"the regular expression {regex[:80]!r} cannot be used: {error.fields['reason']}",
            where=None if at is None else f"character {at}",
            limit=error.limit or "the syntax of Rust's crate regex, without look-around, \\b and backreferences",
            fix="correct it; [0-9]{2} has two digits, (?:yes|no) one of two words",
            **error.fields,
        ) from None


def compile_pattern(spec: PatternSpec) -> Pattern:
    """The engine's pattern for what a file records. Raises `UnsupportedVersion`, `CorruptFile`, `InvalidPattern`."""
    if spec.unicode != UNICODE_VERSION:
        raise UnsupportedVersion(
            f"the pattern was made for Unicode {spec.unicode}",
            limit=f"this package has Unicode {UNICODE_VERSION}",
            fix="use the version of slmtok that wrote the file, or train again",
        )
    if spec.name is None:
        return custom_pattern(spec.regex)
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
