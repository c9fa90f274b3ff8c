"""The engine's pattern for what a vocabulary records of one."""

from __future__ import annotations

from slmtok._engine import UNICODE_VERSION, Pattern, pattern_names
from slmtok.errors import CorruptFile, UnsupportedVersion
from slmtok.vocabulary import PatternSpec


def compile_pattern(spec: PatternSpec) -> Pattern:
    """The engine's pattern for what a file records. Raises `UnsupportedVersion`, `CorruptFile`, `InvalidPattern`."""
    if spec.unicode != UNICODE_VERSION:
        raise UnsupportedVersion(
            f"the pattern was made for Unicode {spec.unicode}", limit=f"this package has Unicode {UNICODE_VERSION}"
        )
    if spec.name is None:
        return Pattern(spec.regex)
    pattern = Pattern(spec.name)
    if pattern.name != spec.name:
        raise UnsupportedVersion(
            f"the pattern {spec.name!r} is not known here", limit=f"known: {', '.join(pattern_names())}"
        )
    if pattern.regex != spec.regex:
        raise CorruptFile(f"the pattern {spec.name!r} has another regex here than the file says")
    return pattern
