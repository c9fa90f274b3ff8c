"""Signs that editors, chat programs and web pages make of the ASCII of a command line: dashes, spaces and quotes."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import click

from slmtok.cli.arguments import command_line, names_input, options_by_flag, placeholder_words, positional_params
from slmtok.errors import OptionError

_DASHED = re.compile(r"[-‐‑‒–—―−]{1,2}(?=[A-Za-z])")
"""The dashes of an option, as ASCII and as other signs."""
_WIDE = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_WIDTHLESS = re.compile("[\u200b\u2060\ufeff]")
SPACES = re.compile(f"{_WIDE.pattern}|{_WIDTHLESS.pattern}")
"""Spaces at which a shell divides no words, and signs without width."""
NO_SPACE = "which does not divide words as a space does"
_QUOTES = "“”„‟‘’‚‛«»"
_BEFORE_QUOTE = re.compile(r"(--?[\w-]+=|[\w.-]+=)?")
"""The option or the name of a setting before a value in quotes."""
_FREE = {"TEXT", "STRING", "KEY", "TEMPLATE", "REGEX", "SPELLING", "NAMES", "GLOB"}
"""Placeholders of values that may be in any quotes themselves."""
_NAME = re.compile(r"[\w.-]+", re.ASCII)


class _Mended(NamedTuple):
    """A word with a sign that is no ASCII, and what is meant by it."""

    fact: str
    words: list[str]


def refuse_typography(ctx: click.Context, args: Sequence[str]) -> None:
    """Raises `OptionError` for `–vocab 400`, `--vocab\N{NO-BREAK SPACE}400` and `--pattern “gpt2”`.

    Each would be a file or a value with that sign. A text with such signs, and a file named so, is what it is.
    """
    if all(map(str.isascii, args)):
        return
    words = [*takewhile("--".__ne__, args)]
    rest, fact = [*args[len(words) :]], ""
    for mend in (_with_spaces, _with_dashes, _with_quotes):
        mended: list[str] = []
        for found in mend(words, ctx.command):
            fact = fact or found.fact
            mended += found.words
        words = mended
    if fact:
        raise OptionError(fact, where=ctx.command_path, fix=command_line(ctx, [*words, *rest]))


def divided_at_spaces(word: str) -> list[str]:
    """The parts of a word between spaces that are no ASCII, without signs that have no width."""
    return [part for part in _WIDE.split(_WIDTHLESS.sub("", word)) if part]


def named_sign(word: str, signs: str | re.Pattern[str]) -> str:
    """The first of some signs in a word: its name and its number in Unicode."""
    sign = next(each for each in word if (each in signs if isinstance(signs, str) else signs.match(each)))
    return f"{unicodedata.name(sign)} (U+{ord(sign):04X})"


def _with_spaces(words: Sequence[str], command: click.Command) -> Iterator[_Mended]:
    """Divides a word that holds an option or files, and trims a value; the text of an option stays."""
    flags, before = options_by_flag(command), ""
    for word in words:
        parts, option = divided_at_spaces(word), flags.get(before)
        is_value = option is not None and not option.is_flag
        is_word = len(parts) == 1 if is_value else bool(parts) and _is_word(parts[0])
        if parts == [word] or not is_word or os.path.lexists(word) or (is_value and _is_free(option)):
            parts = [word]
        fact = f"{word!r} has {named_sign(word, SPACES)}, {NO_SPACE}" if parts != [word] else ""
        yield _Mended(fact, parts)
        before = parts[-1]


def _is_word(part: str) -> bool:
    """Whether a part of a word is one of its own: an option, or a file."""
    return _DASHED.match(part) is not None or os.path.lexists(part)


def _with_dashes(words: Sequence[str], command: click.Command) -> Iterator[_Mended]:
    """Options with the dashes of ASCII."""
    flags = options_by_flag(command).keys() | getattr(command, "habits", {}).keys()
    for word in words:
        found = _DASHED.match(word)
        if found is None or found[0].isascii() or os.path.lexists(word):
            yield _Mended("", [word])
            continue
        name = word[found.end() :]
        flag = f"{'-' if len(name.partition('=')[0]) == 1 else '--'}{name}"
        is_option = flag.partition("=")[0].replace("_", "-") in flags
        sign = named_sign(word.replace("-", ""), found[0])
        fact = f"{word!r} begins with {sign}, not with the '-' of an option" if is_option else ""
        yield _Mended(fact, [flag if is_option else word])


def _with_quotes(words: Sequence[str], command: click.Command) -> Iterator[_Mended]:
    """Values without quotes that no shell reads: `“a b”` in two words as one, and one word that is no free text."""
    flags = options_by_flag(command)
    takes_text = not all(map(names_input, positional_params(command)))
    at = 0
    while at < len(words):
        word, before = words[at], words[at - 1] if at else ""
        start = _BEFORE_QUOTE.match(word)
        head = start[0] if start else ""
        option = flags.get(head.rstrip("=") if head.startswith("-") else before)
        quoted = _quoted(words[at:], head, flags)
        is_free = takes_text if option is None or option.is_flag else _is_free(option)
        text = " ".join([word[len(head) :], *words[at + 1 : at + quoted]])[1:-1]
        is_name = option is not None and "NAME" in placeholder_words(option) and _NAME.fullmatch(text) is not None
        if not quoted or (quoted == 1 and is_free and not is_name and not os.path.exists(text)):  # noqa: PTH110
            yield _Mended("", [word])
            at += 1
            continue
        yield _Mended(f"{word!r} has {named_sign(word, _QUOTES)}, which is no quote of a shell", [head + text])
        at += quoted


def _quoted(words: Sequence[str], head: str, flags: dict[str, click.Option]) -> int:
    """The number of words, from the first on, in quotes that no shell reads; 0 without them.

    A word with a space was in quotes of the shell.
    """
    body = words[0][len(head) :]
    if body[:1] not in (*_QUOTES,) or os.path.lexists(words[0]):
        return 0
    if body[-1] in _QUOTES and len(body) > 1:
        return 1
    if " " in body or body[-1] in _QUOTES:
        return 0
    for number, word in enumerate(words[1:], 2):
        if word.partition("=")[0] in flags or " " in word:
            return 0
        if word[-1:] in (*_QUOTES,):
            return number
    return 0


def _is_free(option: click.Option | None) -> bool:
    """Whether the value of an option is text that may hold any sign."""
    return option is not None and not names_input(option) and not _FREE.isdisjoint(placeholder_words(option))
