"""Words that a shell reads and a program does not: comments, pipes, redirections and the signs between commands.

They come as arguments where no shell reads the line, as from `subprocess.run` with a list; zsh passes on comments.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from typing import NoReturn

import click

from slmtok.cli.arguments import (
    command_line,
    options_by_flag,
    positional_in,
    positional_params,
    takes_text,
)
from slmtok.errors import OptionError

_COMMENT = "#"
_OPERATOR = re.compile(r"\|\|?|&&?|;|<|[012&]?>>?(&[012])?|[012&]?>>?[\w./][\w./-]*", re.ASCII)
"""A sign between commands, or a redirection, with its file or without."""


def refuse_shell_words(ctx: click.Context, args: Sequence[str]) -> None:
    """Raises `OptionError` for `#`, `|`, `>` and the like, which would be files or texts.

    A file of this name, the value of an option, and the text that a command takes are what they are.
    """
    flags = options_by_flag(ctx.command)
    words = [*takewhile("--".__ne__, args)]
    for at, word in enumerate(words):
        if word != _COMMENT and not _OPERATOR.fullmatch(word):
            continue
        before = words[at - 1] if at else ""
        # Behind an option of another tool, too.
        is_value = before.startswith("-") and "=" not in before and not (before in flags and flags[before].is_flag)
        if not is_value and not os.path.lexists(word) and not _may_be_text(ctx, args, at):
            _refuse(ctx, args, at)


def _may_be_text(ctx: click.Context, args: Sequence[str], at: int) -> bool:
    """Whether the word is the text of a command: that has a place for one, and no other word is there."""
    if not takes_text(ctx.command):
        return False
    places = positional_params(ctx.command)

    try:
        given = _positional(ctx, args)
        if any(place.nargs == -1 for place in places):
            texts = [word for word in given if not os.path.exists(word)]  # noqa: PTH110
            return len(texts) <= 1
        return len(given) <= sum(place.nargs for place in places)
    except click.UsageError:
        # An unknown option: in a comment, or for a message of its own.
        return args[at] != _COMMENT


def _positional(ctx: click.Context, words: Sequence[str]) -> list[str]:
    """The arguments among some words. Raises `click.UsageError`."""
    values, rest, _ = ctx.command.make_parser(ctx).parse_args([*words])
    return positional_in(values, rest, ctx)


def _with_file(ctx: click.Context, args: Sequence[str]) -> list[str]:
    """The words without `<`, where the file behind it has a place; else as they are: it is stdin."""
    words, places = [word for word in args if word != "<"], positional_params(ctx.command)
    with suppress(click.UsageError):
        capacity = math.inf if any(place.nargs == -1 for place in places) else sum(place.nargs for place in places)
        if not takes_text(ctx.command) and len(_positional(ctx, words)) <= capacity:
            return words
    return [*args]


def _refuse(ctx: click.Context, args: Sequence[str], at: int) -> NoReturn:
    """Raises the error for the word at this place."""
    word = args[at]
    if word == _COMMENT:
        comment = f", and {' '.join(args[at + 1 :])!r} behind it" if args[at + 1 :] else ""
        raise OptionError(
            f"'#' is an argument{comment}",
            where=ctx.command_path,
            limit="zsh reads comments on a command line only after setopt interactive_comments"
            + "; a text with '#' in it is one argument, in quotes" * takes_text(ctx.command),
            fix=command_line(ctx, args[:at]),
        )
    line = " ".join(each if _OPERATOR.fullmatch(each) else shlex.quote(each) for each in _with_file(ctx, args))
    raise OptionError(
        f"{word!r} is an argument, and only a shell reads it as a sign",
        where=ctx.command_path,
        limit="subprocess.run takes such a line as one string, with shell=True",
        fix=f"{ctx.command_path} {line}",
    )
