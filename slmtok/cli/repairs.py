"""Command lines that differ from a wrong one in the way of writing a word."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

import click

from slmtok.cli.arguments import (
    OF_INPUTS,
    is_packed,
    names_input,
    options_by_flag,
    placeholder_words,
    positional_params,
)
from slmtok.cli.misread import YES_OR_NO
from slmtok.file_kinds import is_run


def _takes_value(flag: str, options: Mapping[str, click.Option]) -> bool:
    """Whether a word is an option whose value is the next word."""
    return flag in options and not options[flag].is_flag


def with_dashes(words: Sequence[str], command: click.Command) -> Iterator[list[str]]:
    """The words with dashes before the name of an option that takes a value: `o=FILE`, `vocab 500`.

    A file of that name is meant itself.
    """
    options = options_by_flag(command)
    # An argument may be `user=<|user|>`.
    takes_pairs = any("=" in str(param.metavar) for param in positional_params(command))
    for at, (before, word) in enumerate(pairwise(words), 1):
        name, equals, value = word.partition("=")
        flag = f"{'-' * min(len(name), 2)}{name.replace('_', '-')}"
        if not _takes_value(flag, options) or _takes_value(before, options) or os.path.exists(word):  # noqa: PTH110
            continue
        if equals and not takes_pairs:
            yield [*words[:at], flag, value, *words[at + 1 :]]
        elif not equals and at + 1 < len(words):
            yield [*words[:at], flag, *words[at + 1 :]]


def with_equals(words: Sequence[str], command: click.Command) -> Iterator[list[str]]:
    """The words with `--vocab:500` as an option and its value."""
    options = options_by_flag(command)
    for at, word in enumerate(words):
        flag, colon, value = word.partition(":")
        if colon and _takes_value(flag, options):
            yield [*words[:at], flag, value, *words[at + 1 :]]


_VERB_AND_OBJECT = re.compile("--(?!no-)[a-z]+-")


def _is_flag(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and param.is_flag


def with_flags(words: Sequence[str], command: click.Command) -> Iterator[list[str]]:
    """The words with a flag of the command for an unknown one with more words in its name, or without it where its
    value is a no: `--skip-special-tokens` is `--skip-special`.

    Only a flag of a verb and its object: a single word, such as the `--eval` of `--eval-interval`, may begin any name.
    """
    options = {name: option for option in command.params for name in (*option.opts, *option.secondary_opts)}
    flags = [name for name, option in options.items() if _VERB_AND_OBJECT.match(name) and _is_flag(option)]
    habits = getattr(command, "habits", {})
    for at, word in enumerate(words):
        typed, equals, value = word.partition("=")
        name = typed.replace("_", "-")
        begun = [flag for flag in flags if name.startswith(f"{flag}-")]
        if not begun or name in options or name in habits:
            continue
        value = value if equals else "".join(words[at + 1 : at + 2])
        found = YES_OR_NO.fullmatch(value)
        if not equals or found:
            end = at + 2 if found and not equals and not os.path.exists(value) else at + 1  # noqa: PTH110
            meant = [] if found and found[1] else [max(begun, key=len)]
            yield [*words[:at], *(each for each in meant if each not in words), *words[end:]]


def read_as_argument(words: Sequence[str], command: click.Command) -> Iterator[list[str]]:
    """The words without an unknown option, or one for text, whose value is a file or folder and becomes an argument.

    For text it is a tokenizer, a run or packed data. None for a command whose arguments may be text itself.
    """
    from slmtok.cli.files import names_tokenizer

    options, places = options_by_flag(command), positional_params(command)
    if not all(map(names_input, places)):
        return
    names = OF_INPUTS | {word.lower() for place in places for word in placeholder_words(place)}
    for at, (word, following) in enumerate(pairwise([*words, ""])):
        flag, equals, value = word.partition("=")
        value = value if equals else following
        is_unknown = flag.startswith("-") and flag not in options and flag.lstrip("-").replace("_", "-") in names
        is_misplaced = flag == "--on" and (names_tokenizer(value) or is_run(value) or is_packed(value))
        before, after = words[:at], words[at + (1 if equals else 2) :]
        # An input is named once.
        is_new = value not in (*before, *after)
        if (is_unknown or is_misplaced) and is_new and os.path.exists(value):  # noqa: PTH110
            yield [*before, value, *after]


def without_one(words: Sequence[str], command: click.Command) -> Iterator[tuple[list[str], str]]:
    """The words without one argument, and that: a file, or what names none where all arguments name inputs.

    The tokenizer of -t counts as an argument.
    """
    options = options_by_flag(command)
    places = positional_params(command)
    # A preset is no file.
    are_inputs = all(names_input(place) and "PRESET" not in placeholder_words(place) for place in places)
    for at, (before, word) in enumerate(pairwise(words), 1):
        if before in ("-t", "--tokenizer"):
            yield [*words[: at - 1], *words[at + 1 :]], word
        is_place = not (word.startswith("-") or _takes_value(before, options))
        if is_place and (are_inputs or os.path.exists(word)):  # noqa: PTH110
            yield [*words[:at], *words[at + 1 :]], word


def divided(words: Sequence[str]) -> Iterator[list[str]]:
    """The words with one that holds several in quotes as those; the value of an option stays."""
    for at, (before, word) in enumerate(pairwise(["", *words])):
        if " " in word and not before.startswith("-") and not os.path.exists(word):  # noqa: PTH110
            with suppress(ValueError):
                yield [*words[:at], *shlex.split(word), *words[at + 1 :]]


def without_quotes(words: Sequence[str]) -> Iterator[list[str]]:
    """The words without quotes that the shell passed on, as it does with quotes in quotes."""
    bare = [word[1:-1] if len(word) > 2 and word[0] == word[-1] and word[0] in "'\"" else word for word in words]
    if bare != [*words]:
        yield bare
