"""Which split pattern a `tokenizer.json` uses: its `pre_tokenizer`, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.errors import Inexpressible
from slmtok.formats.oniguruma import from_oniguruma, oniguruma

if TYPE_CHECKING:
    from slmtok._engine import Pattern


def pattern_of(document: dict[str, Any], source: str) -> Pattern:
    """The pattern. Raises `Inexpressible` where the text is prepared in another way than by one split."""
    from slmtok._engine import Pattern

    step = document.get("pre_tokenizer")
    if _plain_byte_level(step, use_regex=True):
        return Pattern("gpt2")
    steps = step.get("pretokenizers") if isinstance(step, dict) and step.get("type") == "Sequence" else None
    if isinstance(steps, list) and len(steps) == 2 and _plain_byte_level(steps[1], use_regex=False):
        regex = _split(steps[0])
        if regex is not None:
            return _known(regex)
    raise Inexpressible(
        f"{source} cannot be imported: its pre_tokenizer is {_short(step)}",
        where=source,
        limit="ByteLevel with its own regex, or one Split by a regex and then ByteLevel, without a space put in front",
        fix="pattern='gpt2', or whichever cuts in the same way; ids are compared",
        path=source,
    )


def _plain_byte_level(step: Any, *, use_regex: bool) -> bool:
    return (
        isinstance(step, dict)
        and step.get("type") == "ByteLevel"
        and not step.get("add_prefix_space", True)
        and step.get("use_regex", True) is use_regex
    )


def _split(step: Any) -> str | None:
    """The regex of a `Split` that keeps all text, each match a piece."""
    if not isinstance(step, dict) or step.get("type") != "Split" or step.get("invert"):
        return None
    if step.get("behavior") != "Isolated":
        return None
    pattern = step.get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    return regex if isinstance(regex, str) else None


def _known(regex: str) -> Pattern:
    """The pattern of this regex; one of ours where it is that one as an export spells it."""
    from slmtok._engine import Pattern, pattern_names
    from slmtok.schemes import SCHEMES

    names = [*pattern_names(), *(scheme.pattern for scheme in SCHEMES.values())]
    for name in names:
        pattern = Pattern(name)
        if regex in (pattern.regex, oniguruma(pattern.regex)):
            return pattern
    return Pattern(from_oniguruma(regex))


def _short(step: Any) -> str:
    if isinstance(step, dict) and isinstance(step.get("pretokenizers"), list):
        return " then ".join(_short(inner) for inner in step["pretokenizers"]) or "an empty Sequence"
    if isinstance(step, dict):
        return str(step.get("type"))
    return "none"
