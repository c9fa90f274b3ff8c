"""Checks the command line that an error proposes: the command parses it, and its inputs exist and are of its kinds.

A remedy is put together from what was given and what was wrong with that. Where something else is wrong as well,
whoever pastes it meets the next error; here the line is mended once more, or the remedy says what else is wrong. A
line that is sound and differs from the given one in the way of writing a word takes the place of the remedy.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import click

from slmtok.cli.arguments import (
    OUTPUT_FLAGS,
    lacks_text,
    other_than_text,
    parameter_name,
    placeholder_words,
    positional,
    positional_params,
    stands_for_path,
    text_values,
)
from slmtok.cli.errors import EXTRA_ARGUMENT, QUOTED, error_text
from slmtok.cli.repairs import (
    divided,
    read_as_argument,
    with_dashes,
    with_equals,
    with_flags,
    without_one,
    without_quotes,
)
from slmtok.file_kinds import COUNTS, kind_of_file
from slmtok.files import free_name


class Program(NamedTuple):
    """A program whose command lines can be checked."""

    name: str
    commands: Collection[str]
    command: Callable[[str], click.Command]
    """Imports a command."""
    parse: Callable[[Sequence[str]], click.Context]
    """Parses the words of a command line without running the command; raises the error that a user would meet."""


_SEVERAL = re.compile(r"[|&;<>$`\n]|, ")
"""In several commands, or in prose behind one."""
_WRITTEN = re.compile(r" > ([^\s;,'\"]+)")
"""A file that gets the stdout of a command."""
_REPEATED = re.compile(r"(--\S+) is given \d+ times")
"""The fault of an option with one value that is given several times."""
_TRAINING = ("train", "extend")
"""Commands whose corpus may be counts."""
_REPAIRS = (with_dashes, with_equals, with_flags)
_ANSWERED = {"help", "--help", "-h", "--version", "-V"}
"""Words of a line that prints something while it is parsed."""


def check_fix(error: Any, program: Program, given: Sequence[str], *others: Program) -> None:
    """Changes the fix of an error where it is a command line that would be refused, or where a sound one is near.

    given: the words of the command line that failed, without the program. A fix may be a line of the other programs.
    A file that a fix writes gets a name that is free.
    """
    line = getattr(error, "fix", None)
    if not isinstance(line, str):
        return
    _check_line(error, line, program, given, *others)
    fix = error.parts["fix"]
    parts: Any = (fix,) if isinstance(fix, str) else fix
    if (free := _with_free_names(parts)) != parts:
        error.fix = free


def _with_free_names(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts of a fix with another name for each file that exists and that a shell would replace with stdout."""
    taken, free = dict[str, str](), list[Any]()
    for part in parts:
        if isinstance(part, str):
            # Behind it, the name stands for what was written.
            for name, other in taken.items():
                part = part.replace(name, other)
            for written in _WRITTEN.findall(QUOTED.sub("", part)):
                if os.path.isfile(written) and (other := free_name(written)) != written:  # noqa: PTH113
                    before, sign, after = part.partition(f" > {written}")
                    if sign:
                        taken[written] = other
                        part = f"{before} > {other}{after.replace(written, other)}"
        free.append(part)
    return tuple(free)


def _check_line(error: Any, line: str, program: Program, given: Sequence[str], *others: Program) -> None:
    """Changes the fix of an error, which is `line`, as `check_fix`."""
    if "$(cat " in line:
        # A list of files, which a near line would read as text.
        return
    if near := next(_near_lines(given, program), None) or _as_argument(given, program, is_only=not _says_little(line)):
        error.fix = shlex.join([program.name, *near])
        return
    if line.endswith("--help") and (known := _without_unknown(error, given, program)):
        error.fix = shlex.join([program.name, *known])
        error.limit = f"{program.name} {known[0]} has no such option: {line} lists its options"
        return
    if sound := _without_blamed(error, given, program):
        error.fix = shlex.join([program.name, *sound])
        return
    if line.startswith("leave one out: ") and (rest := _without_one(given, program) or _absent_both(given, program)):
        error.fix = rest
        return
    named = next((each for each in (program, *others) if line.startswith(f"{each.name} ")), None)
    words = _words(line) if named else None
    if named and words:
        _mend(error, named, words, given)


def _near_lines(given: Sequence[str], program: Program) -> Iterator[list[str]]:
    """The sound command lines that differ from the given one in the way of writing a word."""
    command = _command(given, program)
    lines = [*without_quotes(given)]
    lines += [line for repair in _REPAIRS for line in repair(given, command)] if command else ()
    if command is None or not any("TEXT" in placeholder_words(param) for param in positional_params(command)):
        lines += divided(given)
    return (words for words in lines if _command(words, program) and _fault(words, words, program) is None)


def _command(words: Sequence[str], program: Program) -> click.Command | None:
    """The command of a command line; None for an unknown one, and where a package that it needs is missing."""
    name = words[0].replace("_", "-") if words else ""
    with suppress(ImportError, OSError):
        return program.command(name) if name in program.commands else None
    return None


def _says_little(fix: str) -> bool:
    """Whether a remedy leaves an option out, or only names where to read on."""
    return fix.endswith("--help") or fix.startswith(("leave out ", "printf "))


_PLACEHOLDER = re.compile(r"[A-Z_]{2,}[.,;]?")


def _without_blamed(error: Any, given: Sequence[str], program: Program) -> list[str] | None:
    """The sound command line without the file that an error blames, where its fix is to make one of something else."""
    path = error.fields.get("path")
    has_placeholder = any(_PLACEHOLDER.fullmatch(word) and word not in given for word in error.fix.split())
    if path not in given or not (has_placeholder and os.path.exists(path)):  # noqa: PTH110
        return None
    rest = [word for word in given if word != path]
    is_sound = _command(rest, program) is not None and _fault(rest, given, program) is None
    return rest if is_sound and positional(program.parse(rest)) else None


def _without_one(given: Sequence[str], program: Program) -> str | None:
    """The sound command line without an argument that names no file, which is said, or without the only other one."""
    from slmtok.cli.files import names_tokenizer

    command = _command(given, program)
    lines = without_one(given, command) if command else ()
    sound = [(words, word) for words, word in lines if _fault(words, given, program) is None]
    for words, word in sound:
        if not os.path.exists(word) and not names_tokenizer(word):  # noqa: PTH110
            return f"{shlex.join([program.name, *words])}; there is no file or folder {word!r}"
    return shlex.join([program.name, *sound[0][0]]) if len(sound) == 1 else None


def _absent_both(given: Sequence[str], program: Program) -> str | None:
    """The remedy for several arguments in the place of one, none of which exists; None where one does."""
    command = _command(given, program)
    words = list(dict.fromkeys(word for _, word in without_one(given, command))) if command else []
    if len(words) < 2 or any(map(os.path.exists, words)):
        return None
    return f"name one that exists: there is no file or folder {', and none '.join(map(repr, words))}"


def _without_unknown(error: Any, given: Sequence[str], program: Program) -> list[str] | None:
    """The sound command line without the option that an error names, which the command does not have.

    None where the word behind it may be its value, and where the rest writes a file that no word names.
    """
    at = next((at for at, word in enumerate(given) if word == error.fields.get("option")), None)
    if at is None or _command(given, program) is None:
        return None
    rest, without_value = ([*given[:at], *given[end:]] for end in (at + 1, at + 2))
    has_value = at + 1 < len(given) and _fault(without_value, given, program) is None
    if has_value or _fault(rest, given, program) is not None:
        return None
    return rest if _names_output(program.parse(rest)) else None


def _names_output(context: click.Context) -> bool:
    """Whether a word names the file that a command line writes, or it writes none."""
    is_default = context.get_parameter_source("output") is click.core.ParameterSource.DEFAULT
    return not is_default or context.params["output"] in (None, "-")


def _as_argument(given: Sequence[str], program: Program, *, is_only: bool = False) -> list[str] | None:
    """The sound command line in which the value of an option is an argument, with `is_only` the only one."""
    command = _command(given, program)
    lines = read_as_argument(given, command) if command else ()
    for words in lines:
        if _fault(words, given, program) is None and (not is_only or len(positional(program.parse(words))) == 1):
            return words
    return None


def _mend(error: Any, program: Program, words: list[str], given: Sequence[str]) -> None:
    """Changes the fix of an error, a command line of `words`, where it would be refused."""
    line = error.fix
    # A word may name several files, as in `--input=a.txt,b.txt`.
    parts = [*given, *(part for word in given for part in re.split("[=,]", word))]
    fault = _fault(words, parts, program)
    kept = _once(words, _REPEATED.match(fault or ""))
    extra = EXTRA_ARGUMENT.match(fault or "")
    is_prose = extra is not None and extra[1] not in parts
    if is_prose or (fault is None and kept == words):
        return
    blamed = error.fields.get("path")
    without_blamed = [word for word in kept if word != blamed]
    for meant in (kept, _with_output(kept, parts, program), _as_argument(given, program), without_blamed):
        if meant and _fault(meant, parts, program) is None:
            error.fix = shlex.join([program.name, *meant])
            return
    if fault is None:
        return
    if rest := _without_one(given, program):
        error.fix = rest
        return
    if kept != words:
        line, fault = shlex.join([program.name, *kept]), _fault(kept, parts, program)
    # Behind the line, the shell would run it, and the prose as well.
    error.fix = f"besides, {fault}; with that mended: {line}"


def _words(line: str) -> list[str] | None:
    """The words of a command line without the program; None for several commands, and for what only prints help."""
    if _SEVERAL.search(QUOTED.sub("", line)):
        return None
    with suppress(ValueError):
        words = shlex.split(line)[1:]
        return None if not _ANSWERED.isdisjoint(words) else words
    return None


def _fault(words: Sequence[str], given: Sequence[str], program: Program) -> str | None:
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
    except Exception as error:
        fault = error_text(error).splitlines()[0] if hasattr(error, "fact") else str(error)
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


def _with_output(words: Sequence[str], given: Sequence[str], program: Program) -> list[str]:
    """The words with the last argument that does not exist as the output, where another is an input, and none given."""
    command = _command(words, program)
    places = [word for before, word in pairwise(words) if not (before.startswith("-") or word.startswith("-"))]
    absent = [word for word in places if not os.path.exists(word) and word in given]  # noqa: PTH110
    has_output = any(word.partition("=")[0] in OUTPUT_FLAGS for word in given)
    inputs = [*filter(os.path.exists, places)]
    if command is None or has_output or not absent or not inputs or lacks_text(inputs, command):
        return [*words]
    rest = [word for word in words if word != absent[-1]]
    outputs = [at for at, word in enumerate(rest) if word in OUTPUT_FLAGS]
    for at in outputs:
        if os.path.splitext(rest[at + 1])[0] in given:  # noqa: PTH122
            # Made of the name that an option of another tool gives.
            return [*words]
        rest[at + 1] = absent[-1]
    return rest if outputs else [*rest, "-o", absent[-1]]


def _once(words: Sequence[str], repeated: re.Match[str] | None) -> list[str]:
    """The words without an argument that is the value of an option, too, and with the last of several outputs.

    So with the option of one value that is `repeated`.
    """
    values = {value for flag, value in pairwise(words) if flag.startswith("-") and not value.startswith("-")}
    kept = [word for before, word in pairwise(["", *words]) if word not in values or before.startswith("-")]
    for flags in (OUTPUT_FLAGS, [repeated[1]] if repeated else []):
        places = [at for at, word in enumerate(kept) if word in flags]
        for at in reversed(places[:-1]):
            del kept[at : at + 2]
    return kept
