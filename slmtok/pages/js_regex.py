"""A split pattern as a regular expression of JavaScript that cuts every text where the engine cuts it.

JavaScript has no possessive quantifiers, no atomic groups and no inline flags, and each browser has Unicode tables of
its own. So `x++` becomes a look-ahead with a back-reference, a flag is applied to what it covers, and classes are
written as ranges of code points, which the engine is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import numpy as np

from slmtok._engine import Pattern
from slmtok.errors import InvalidPattern

_LAST = 0x10FFFF
_TOKEN = re.compile(
    r"""(?P<backref>\\(?P<number>[1-9]\d?)|\\k<(?P<to>\w+)>|\(\?P=(?P<python>\w+)\))
    |(?P<lookaround>\(\?<?[=!])
    |(?P<atomic>\(\?>)
    |(?P<named>\(\?P?<(?P<name>\w+)>)
    |(?P<flags>\(\?(?P<on>[a-z]*)(?:-(?P<off>[a-z]+))?(?P<scope>[:)]))
    |(?P<open>\()
    |(?P<close>\))
    |(?P<bar>\|)
    |(?P<anchor>\^|\$|\\A|\\z|\\Z|\\b|\\B)
    |(?P<shorthand>\\[pP](?:\{[^}]*\}|\w)|\\[sSdDwWhH]|\.)
    |(?P<bracket>\[)
    |(?P<literal>\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\u\{[0-9A-Fa-f]+\}|\\u[0-9A-Fa-f]{4}|\\.|[^\\])""",
    re.VERBOSE | re.DOTALL,
)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d*(?:,\d*)?\})([+?]?)")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "0": "\0", "e": "\x1b"}
_MORE_CASES = {"k": "\u212a", "s": "\u017f"}
"""The characters beyond ASCII that are equal to an ASCII letter but for case. Unicode never changes a case folding."""

Ranges = tuple[tuple[int, int], ...]


def to_js(regex: str) -> str:
    """The source of a JavaScript expression for the flags `gu`. Raises `InvalidPattern` for what has no counterpart."""
    translator = _Translator(regex)
    try:
        return translator.translate()
    except RecursionError:
        raise translator.refused("groups nested this deep") from None


class _Translator:
    """Reads a regex from left to right; `at` is where it stands."""

    def __init__(self, regex: str) -> None:
        self.regex = regex
        self.at = 0
        self.atomic = 0
        self.groups: list[str] = []
        self.flags: frozenset[str] = frozenset()

    def translate(self) -> str:
        source = self._alternation()
        if self.at < len(self.regex):
            raise self.refused("a parenthesis without its opening one")
        return source

    def _alternation(self) -> str:
        """Branches up to the closing parenthesis or the end; flags that are set inside end with it."""
        flags, items = self.flags, list[str]()
        while self.at < len(self.regex) and self.regex[self.at] != ")":
            found = _TOKEN.match(self.regex, self.at)
            if found is None:
                raise self.refused("a syntax that is not known")
            self.at = found.end()
            items.append("|" if found["bar"] else self._quantified(self._atom(found)))
        self.flags = flags
        return "".join(items)

    def _atom(self, found: re.Match[str]) -> str:
        """The source of one atom; that of a group ends behind its parenthesis."""
        kind, text = found.lastgroup, found.group()
        if found["flags"]:
            return self._flag_group(found)
        if found["lookaround"]:
            return self._group(text)
        if found["atomic"]:
            return self._once(self._group("(?:"))
        if found["named"] or found["open"]:
            name = f"g{len(self.groups) + 1}"
            self.groups.append(found["name"] or "")
            return self._group(f"(?<{name}>")
        if found["backref"]:
            return self._reference(found)
        if found["anchor"]:
            return self._anchor(text)
        if found["bracket"]:
            return self._bracket(found.start())
        if kind == "shorthand":
            return _js_class(self._code_points(text))
        return self._literal(_character(text))

    def _group(self, opening: str) -> str:
        inside = self._alternation()
        self._close()
        return f"{opening}{inside})"

    def _close(self) -> None:
        if not self.regex.startswith(")", self.at):
            raise self.refused("a parenthesis that is not closed")
        self.at += 1

    def _flag_group(self, found: re.Match[str]) -> str:
        """`(?i:...)`, or `(?i)` for the rest of the group around it."""
        on, off = frozenset(found["on"] or ""), frozenset(found["off"] or "")
        if not (on | off) <= set("imsu"):
            raise self.refused(f"the flags {''.join(sorted((on | off) - set('imsu')))}")
        before, self.flags = self.flags, (self.flags | on) - off
        if found["scope"] == ")":
            return ""
        source = self._group("(?:")
        self.flags = before
        return source

    def _reference(self, found: re.Match[str]) -> str:
        name = found["to"] or found["python"]
        number = self.groups.index(name) + 1 if name in self.groups else int(found["number"] or 0)
        if not 1 <= number <= len(self.groups) or "i" in self.flags:
            raise self.refused(f"the reference {found.group()}")
        return rf"\k<g{number}>"

    def _anchor(self, text: str) -> str:
        if text in ("\\b", "\\B"):
            word = _js_class(self._code_points(r"\w"))
            sides = (f"(?<={word})(?!{word})", f"(?<!{word})(?={word})")
            return f"(?:{'|'.join(sides)})" if text == "\\b" else f"(?!{'|'.join(sides)})"
        if "m" in self.flags and text in "^$":
            return r"(?<![^\n])" if text == "^" else r"(?![^\n])"
        return {"^": "^", "\\A": "^", "$": "$", "\\z": "$"}.get(text) or r"(?=\n?$)"

    def _bracket(self, start: int) -> str:
        depth, at = 1, start + 1
        if self.regex.startswith("^", at):
            at += 1
        if self.regex.startswith("]", at):
            at += 1
        while depth:
            if at >= len(self.regex):
                raise self.refused("a bracket that is not closed")
            char = self.regex[at]
            depth += (char == "[") - (char == "]")
            at += 2 if char == "\\" else 1
        self.at = at
        return _js_class(self._code_points(self.regex[start:at]))

    def _literal(self, char: str) -> str:
        if "i" in self.flags and char.lower() != char.upper():
            if not char.isascii():
                return _js_class(self._code_points(re.escape(char)))
            return f"[{char.lower()}{char.upper()}{_MORE_CASES.get(char.lower(), '')}]"
        return _js_code_point(ord(char))

    def _quantified(self, atom: str) -> str:
        found = _QUANTIFIER.match(self.regex, self.at)
        if found is None or not atom:
            return atom
        self.at = found.end()
        count = found.group().removesuffix("+") if found[1] == "+" else found.group()
        count = count.replace("{,", "{0,")
        return self._once(atom + count) if found[1] == "+" else atom + count

    def _once(self, source: str) -> str:
        """Matches as `source` does first, and never otherwise: a look-ahead is not entered again."""
        self.atomic += 1
        return rf"(?:(?=(?<a{self.atomic}>{source}))\k<a{self.atomic}>)"

    def _code_points(self, atom: str) -> Ranges:
        """What a class of the pattern matches under the flags that hold here."""
        return matched("".join(sorted(self.flags & set("is"))), atom)

    def refused(self, what: str) -> InvalidPattern:
        return InvalidPattern(
            f"the pattern has {what}, which has no counterpart in a browser",
            where=f"character {self.at} of the pattern",
            limit="groups, classes, quantifiers, look-around, references, the flags i, m, s",
            fix="leave this tokenizer out",
            pattern=self.regex,
        )


def _character(text: str) -> str:
    if not text.startswith("\\"):
        return text
    if text[1] in "xu" and len(text) > 2:
        return chr(int(text[2:].strip("{}"), 16))
    return _CONTROLS.get(text[1], text[1])


@cache
def _all_characters() -> tuple[bytes, np.ndarray]:
    """All characters in order as UTF-8, and the byte at which each code point begins (with those of surrogates)."""
    text = "".join(map(chr, range(0xD800))) + "".join(map(chr, range(0xE000, _LAST + 1)))
    points = np.arange(_LAST + 2)
    lengths = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
    lengths[0xD800:0xE000] = 0
    return text.encode(), np.concatenate(([0], np.cumsum(lengths[:-1])))


@cache
def matched(flags: str, atom: str) -> Ranges:
    """The code points that a class of one character matches, as closed ranges."""
    text, starts = _all_characters()
    group = f"(?{flags}:{atom})" if flags else f"(?:{atom})"
    bounds = np.searchsorted(starts, Pattern(f"{group}+").split(text), side="right") - 1
    # Runs that match and runs that do not take turns; the first character tells which of them comes first.
    first = int(Pattern(group).gaps(b"\0")[0] > 0)
    runs = zip(bounds[first::2].tolist(), bounds[first + 1 :: 2].tolist(), strict=False)
    return tuple(_without_surrogates((start, stop - 1) for start, stop in runs))


def _without_surrogates(ranges: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    for start, stop in ranges:
        yield start, (0xD7FF if stop == 0xDFFF else stop)


def _js_class(ranges: Ranges) -> str:
    """Ranges as a class; more than half of all characters as the complement of the rest."""
    if not ranges:
        return "[]"
    if ranges == ((0, _LAST),):
        return "[^]"
    if sum(stop - start for start, stop in ranges) > _LAST // 2:
        edges = [-1, *(edge for start, stop in ranges for edge in (start, stop)), _LAST + 1]
        rest = [(edges[i] + 1, edges[i + 1] - 1) for i in range(0, len(edges), 2)]
        return "[^" + "".join(_js_range(*each) for each in rest if each[0] <= each[1]) + "]"
    return "[" + "".join(_js_range(*each) for each in ranges) + "]"


def _js_range(start: int, stop: int) -> str:
    ends = [start] if start == stop else [start, stop]
    return "-".join(map(_js_code_point, ends))


def _js_code_point(point: int) -> str:
    """Letters and digits as they are; anything else by its number, so that the source is ASCII without syntax."""
    char = chr(point)
    return char if char.isascii() and char.isalnum() else f"\\u{{{point:x}}}"
