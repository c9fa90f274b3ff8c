"""What is wrong with a command line of a program, which is parsed and not run."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import click

from slmtok.cli.arguments import other_than_text, parameter_name, placeholder_words, stands_for_path, text_values
from slmtok.cli.output import flag_naming
from slmtok.file_kinds import COUNTS, kind_of_file


class Program(NamedTuple):
    """A program whose command lines can be checked."""

    name: str
    commands: Collection[str]
    command: Callable[[str], click.Command]
    """Imports a command."""
    parse: Callable[[Sequence[str]], click.Context]
    """Parses the words of a command line without running the command; raises the error that a user would meet."""
    refusal: Callable[[Sequence[str]], Exception | None]
    """The error of a command line that is refused before it runs."""


_TRAINING = ("train", "extend")
"""Commands whose corpus may be counts."""


def fault_of(words: Sequence[str], given: Sequence[str], program: Program) -> str | None:
    """What is wrong with a command line; None where nothing was found."""
    from slmtok.cli.options import Command

    try:
        context = program.parse(words)
        if isinstance(context.command, Command):
            context.command.with_objects(context.params)
    except click.MissingParameter as error:
        return f"{parameter_name(error.param)} is missing"
    except click.BadParameter as error:
        return f"{parameter_name(error.param)} {error.message}"
    except click.ClickException as error:
        return error.message[:1].lower() + error.message[1:].rstrip(".")
    except click.exceptions.Exit:
        return None
    except Exception as caught:
        own: Any = caught if hasattr(caught, "fact") else None
        fault = own.render(partial(flag_naming, flags=())).splitlines()[0] if own else str(caught)
        stand_in = any(word.isupper() and word not in given and repr(word) in fault for word in words)
        return None if stand_in else fault
    # Other words are prose behind the line, or stand for what is to be named.
    absent = next((value for value in _absent(context) if value in given), None)
    return next(_misfits(context), None) if absent is None else f"there is no file or folder {absent!r}"


def _misfits(context: click.Context) -> Iterator[str]:
    """What is wrong with inputs that exist and are of another kind than the command reads."""
    from slmtok.cli.files import names_tokenizer

    for param, value in text_values(context):
        words = {*placeholder_words(param)}
        if not stands_for_path(param) or not os.path.exists(value):  # noqa: PTH110
            continue
        kind = kind_of_file(value)
        if words == {"COUNTS"} and os.path.isfile(value) and kind != COUNTS:  # noqa: PTH113
            yield f"{value!r} is not a counts file"
        if words == {"RUN"} and isinstance(param, click.Argument) and os.path.isfile(value):  # noqa: PTH113
            yield f"{value!r} is a file, not a run"
        if words == {"DATA"} and names_tokenizer(value):
            yield f"{value!r} is a tokenizer, not packed data"
        if words == {"TOK"} and not os.path.isdir(value) and not names_tokenizer(value):  # noqa: PTH112
            yield f"{value!r} is not a tokenizer"
        if not words <= {"CORPUS", "TEXT", "COUNTS"}:
            continue
        name = other_than_text(value)
        takes_counts = "COUNTS" in words or context.info_name in _TRAINING
        if name and not (kind == COUNTS and takes_counts):
            yield f"{value!r} is {name}, not text"


def _absent(context: click.Context) -> Iterator[str]:
    """The arguments that stand for an input and name none. The line may have placeholders."""
    from slmtok.cli.files import names_tokenizer

    for param, value in text_values(context):
        if not isinstance(param, click.Argument) or not stands_for_path(param):
            continue
        words = placeholder_words(param)
        is_other = value in ("-", *words) or ":" in value or value.isupper() or glob.has_magic(value)
        if "TEXT" in words or "PRESET" in words or "NEW" in words or is_other:
            continue
        if not os.path.exists(value) and not names_tokenizer(value):  # noqa: PTH110
            yield value
