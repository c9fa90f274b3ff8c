r"""A regex respelled for Oniguruma, the engine of Hugging Face's `tokenizers`, which reads Ruby's dialect.

There the dot matches a line feed under `(?m:`, not `(?s:`; `^` and `$` are ends of lines, `\A` and `\z` those of the
text; and `{1,3}+` repeats a repetition, where others have a possessive one, so the plain one stands in its place (in
the named patterns nothing follows it that could take anything back; for others, the comparison of ids tells). What has
no flags, anchors or possessive intervals stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

_PART = re.compile(
    r"""(?P<escape>\\.)
      | (?P<interval>\{\d+(?:,\d*)?\})\+
      | (?P<flags>\(\?[a-zA-Z-]*[sm][a-zA-Z-]*[:)])
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


def oniguruma(regex: str) -> str:
    """The regex in Oniguruma's dialect."""
    lines = re.search(r"\(\?[a-zA-Z]*m", regex) is not None
    return _rewritten(regex, partial(_to_ruby, lines=lines))


def from_oniguruma(regex: str) -> str:
    """The inverse, for a regex that stands in somebody's `tokenizer.json`."""
    return _rewritten(regex, _from_ruby)


def _rewritten(regex: str, outside: Callable[[re.Match[str]], str]) -> str:
    """The regex with each part that stands in no class as `outside` gives it."""
    depth = 0
    out: list[str] = []
    for part in _PART.finditer(regex):
        text = part[0]
        if part["escape"] and depth:
            out.append(text)
        elif depth and text in "[]":
            depth += 1 if text == "[" else -1
            out.append(text)
        elif text == "[":
            depth = 1
            out.append(text)
        elif depth:
            out.append(text)
        else:
            out.append(outside(part))
    return "".join(out)


def _to_ruby(part: re.Match[str], *, lines: bool) -> str:
    """`lines`: the regex itself asks for ends of lines."""
    if part["interval"]:
        return part["interval"]
    if part["flags"] and "s" in part[0]:
        return part[0].replace("m", "").replace("s", "m")
    if not lines and part[0] in ("^", "$"):
        return r"\A" if part[0] == "^" else r"\z"
    return part[0]


_FROM_RUBY = {"^": "(?m:^)", "$": "(?m:$)", r"\A": "^", r"\z": "$"}


def _from_ruby(part: re.Match[str]) -> str:
    if part["flags"]:
        return part[0].replace("m", "s")
    return _FROM_RUBY.get(part[0], part[0])
