"""Names with a space that stand without quotes: the shell passes their words apart."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from slmtok.cli.arguments import options_by_flag, stands_for_path

_MAX_WORDS = 16
"""Words of one name; a bound, as a shell may pass thousands of files."""


def with_quotes(words: Sequence[str], command: click.Command) -> list[str]:
    """The words of a command line; neighbours that are a path together, and not each by itself, are one word.

    The first is an argument or the value of an option that takes a path. More words come before fewer, so that
    `Meine Läufe/lauf 1` is one name where `Meine Läufe/lauf` exists, too.
    """
    options, joined, at = options_by_flag(command), list[str](), 0
    while at < len(words):
        flag, equals, value = words[at].partition("=")
        option = options.get(flag if equals else words[at - 1] if at else "")
        takes_path = option is None or option.is_flag or option.name == "output" or stands_for_path(option)
        start = f"{flag}=" if equals and flag in options else ""
        end = at + 1
        if takes_path and (start or not words[at].startswith("-")):
            parts = [value if start else words[at], *words[at + 1 : at + _MAX_WORDS]]
            end = at + _n_words(parts)
        joined.append(" ".join(words[at:end]))
        at = end
    return joined


def _n_words(words: Sequence[str]) -> int:
    """How many of the first words are one path; 1 where they are none together."""
    are_paths = [*map(os.path.lexists, words)]
    for n_words in range(len(words), 1, -1):
        if not all(are_paths[:n_words]) and os.path.lexists(" ".join(words[:n_words])):
            return n_words
    # The name of a new file, in a folder with a space in its name.
    end = next((at + 1 for at, word in enumerate(words) if at and os.sep in word), 0)
    folder = os.path.dirname(" ".join(words[:end]))  # noqa: PTH120
    return end if end and os.path.isdir(folder) and not any(are_paths[:end]) else 1  # noqa: PTH112
