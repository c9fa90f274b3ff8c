"""Words behind the value of an option that are further values of it: each would be an argument, such as a corpus."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple, TypeAlias

import click

from slmtok.cli.arguments import command_line, is_misspelt, options_by_flag, positional_in
from slmtok.errors import OptionError
from slmtok.path_arguments import glob_matches


class _Wrong(NamedTuple):
    """An option with words behind its value: what is wrong, and the arguments with these as its values."""

    fact: str
    limit: str
    flag: str
    mended: list[str]


def refuse_several_values(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuses `--mix en=70 de=30` and `--exclude a b`, and `--exclude *.md` that the shell expanded."""
    wrong = _first_wrong(ctx, args)
    if wrong is None:
        return
    mended = wrong.mended
    while more := _first_wrong(ctx, mended):
        mended = more.mended
    raise OptionError(
        wrong.fact, where=ctx.command_path, limit=wrong.limit, fix=command_line(ctx, mended), option=wrong.flag
    )


def _first_wrong(ctx: click.Context, args: Sequence[str]) -> _Wrong | None:
    """The first option with further values behind its value; None without one."""
    options = options_by_flag(ctx.command)
    for at, word in enumerate(takewhile("--".__ne__, args)):
        flag, equals, value = word.partition("=")
        option = options.get(flag)
        if option is None or not (option.metavar == "GLOB" or _takes_pairs(option)):
            continue
        start = at + (1 if equals else 2)
        value = value if equals else "".join(args[start - 1 : start])
        following = [*takewhile(lambda each: not each.startswith("-"), args[start:])]
        if not (value and following):
            continue
        further = _further_globs if option.metavar == "GLOB" else _further_pairs
        n_values, values, limit = further(flag, value, following, ctx, args)
        if n_values:
            fact = f"{flag} takes one value each time, and {following[0]!r} stands behind {value!r}"
            mended = [part for each in values for part in (flag, each)]
            return _Wrong(fact, limit, flag, [*args[:at], *mended, *args[start + n_values :]])
    return None


_Further: TypeAlias = "tuple[int, list[str], str]"
"""Number of words behind a value that are values, all values of the option, and how each is written."""


def _takes_pairs(option: click.Option) -> bool:
    """Whether an option takes pairs and may be repeated; words behind `--set` have habits of their own."""
    metavar = str(option.metavar)
    return option.multiple and "=" in metavar and "|" not in metavar and "--set" not in option.opts


def _further_pairs(
    flag: str, value: str, following: Sequence[str], ctx: click.Context, args: Sequence[str]
) -> _Further:
    more = [*takewhile(lambda each: "=" in each.strip("=") and not os.path.exists(each), following)]  # noqa: PTH110
    return len(more), [value, *more], f"{flag} before each value"


def _further_globs(
    flag: str, value: str, following: Sequence[str], ctx: click.Context, args: Sequence[str]
) -> _Further:
    """A word behind a glob may be an argument, unless the words are the matches of a glob.

    Else it is a value where it is no file, or one in an argument that stands elsewhere.
    """
    before = f"name a file to read before {flag}"
    parsed, rest, _ = ctx.command.make_parser(ctx).parse_args([*args])
    others = [each for each in positional_in(parsed, rest, ctx) if each not in following]
    glob, n_matched = _expanded([value, *following])
    if glob and (others or n_matched <= len(following)):
        return n_matched - 1, [glob], f"the shell replaces {glob} without quotes by the names of files; {before}"
    more = [*takewhile(lambda each: _is_value(each, others), following)] if others else []
    return len(more), [value, *more], f"{flag} before each value; {before}"


def _is_value(word: str, others: Sequence[str]) -> bool:
    """Whether a word behind a glob is another one: it would be read twice, or there is nothing to read."""
    if os.path.exists(word):  # noqa: PTH110
        path = os.path.realpath(word)
        return any(os.path.commonpath([path, os.path.realpath(each)]) == os.path.realpath(each) for each in others)
    return not (word.startswith("hf:") or glob_matches(word) or is_misspelt(word))


def _expanded(words: Sequence[str]) -> tuple[str, int]:
    """The glob whose matches the first words are, and their number; ("", 0) for other words."""
    for n_words in range(len(words), 1, -1):
        begun = {*words[:n_words]}
        ending = os.path.splitext(words[0])[1]  # noqa: PTH122
        # All begin as the first and the last in order do.
        pairs = zip(min(begun), max(begun), strict=False)
        prefix = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        glob = f"{prefix}*{ending}"
        if ending and len(begun) == n_words and {*glob_matches(glob)} == begun:
            return glob, n_words
    return "", 0
