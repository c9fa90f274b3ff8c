"""Checks the command line that an error proposes: the command parses it, and its inputs exist and are of its kinds.

A remedy is put together from what was given and what was wrong with that. Where something else is wrong as well,
whoever pastes it meets the next error; here the line is mended once more, or the remedy says what else is wrong. A
line that is sound and differs from the given one in the way of writing a word takes the place of the remedy.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import click

from slmtok.cli.arguments import (
    OUTPUT_FLAGS,
    lacks_text,
    options_by_flag,
    placeholder_words,
    positional,
    positional_params,
)
from slmtok.cli.errors import EXTRA_ARGUMENT
from slmtok.cli.line_checks import Program, fault_of
from slmtok.cli.output import flag_naming
from slmtok.cli.repairs import (
    divided,
    read_as_argument,
    with_dashes,
    with_equals,
    with_flags,
    without_one,
    without_quotes,
)
from slmtok.cli.unknown_options import QUOTED, options_in
from slmtok.errors import SlmtokError, render
from slmtok.files import free_name

_SEVERAL = re.compile(r"[|&;<>$`\n]|, | # ")
"""In several commands, or in prose behind one."""
_WRITTEN = re.compile(r" > ([^\s;,'\"]+)")
"""A file that gets the stdout of a command."""
_REPEATED = re.compile(r"(--\S+) is given \d+ times")
"""The fault of an option with one value that is given several times."""
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
    elif not named:
        _add_other_fault(error, line, program, given)


def _near_lines(given: Sequence[str], program: Program) -> Iterator[list[str]]:
    """The sound command lines that differ from the given one in the way of writing a word."""
    command = _command(given, program)
    lines = [*without_quotes(given)]
    lines += [line for repair in _REPAIRS for line in repair(given, command)] if command else ()
    if command is None or not any("TEXT" in placeholder_words(param) for param in positional_params(command)):
        lines += divided(given)
    return (words for words in lines if _command(words, program) and fault_of(words, words, program) is None)


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
    is_sound = _command(rest, program) is not None and fault_of(rest, given, program) is None
    return rest if is_sound and positional(program.parse(rest)) else None


def _without_one(given: Sequence[str], program: Program) -> str | None:
    """The sound command line without an argument that names no file, which is said, or without the only other one."""
    from slmtok.cli.files import names_tokenizer

    command = _command(given, program)
    lines = without_one(given, command) if command else ()
    sound = [(words, word) for words, word in lines if fault_of(words, given, program) is None]
    for words, word in sound:
        if not os.path.exists(word) and not names_tokenizer(word):  # noqa: PTH110
            return f"{shlex.join([program.name, *words])} # there is no file or folder {word!r}"
    return shlex.join([program.name, *sound[0][0]]) if len(sound) == 1 else None


def _absent_both(given: Sequence[str], program: Program) -> str | None:
    """The remedy for several arguments in the place of one, none of which exists; None where one does."""
    command = _command(given, program)
    words = list(dict.fromkeys(word for _, word in without_one(given, command))) if command else []
    if len(words) < 2 or any(map(os.path.exists, words)):
        return None
    return f"name one that exists: there is no file or folder {', and none '.join(map(repr, words))}"


def _as_argument(given: Sequence[str], program: Program, *, is_only: bool = False) -> list[str] | None:
    """The sound command line in which the value of an option is an argument, with `is_only` the only one."""
    command = _command(given, program)
    lines = read_as_argument(given, command) if command else ()
    for words in lines:
        if fault_of(words, given, program) is None and (not is_only or len(positional(program.parse(words))) == 1):
            return words
    return None


def _mend(error: Any, program: Program, words: list[str], given: Sequence[str]) -> None:
    """Changes the fix of an error, a command line of `words`, where it would be refused."""
    line = error.fix
    # A word may name several files, as in `--input=a.txt,b.txt`.
    parts = [*given, *(part for word in given for part in re.split("[=,]", word))]
    fault = fault_of(words, parts, program)
    kept = _once(words, _REPEATED.match(fault or ""))
    extra = EXTRA_ARGUMENT.match(fault or "")
    is_prose = extra is not None and extra[1] not in parts
    if is_prose or (fault is None and kept == words):
        return
    blamed = error.fields.get("path")
    without_blamed = [word for word in kept if word != blamed]
    for meant in (kept, _with_output(kept, parts, program), _as_argument(given, program), without_blamed):
        if meant and fault_of(meant, parts, program) is None:
            error.fix = shlex.join([program.name, *meant])
            return
    if fault is None:
        return
    if rest := _without_one(given, program):
        error.fix = rest
        return
    if again := _mended_again(kept, parts, program):
        error.fix = shlex.join([program.name, *again])
        return
    if kept != words:
        line, fault = shlex.join([program.name, *kept]), fault_of(kept, parts, program)
    # Behind the line, the shell would run it, and the prose as well.
    error.fix = f"besides, {fault}; with that mended: {line}"


def _add_other_fault(error: Any, fix: str, program: Program, given: Sequence[str]) -> None:
    """Adds to a fix, which is one option with a value, what else is wrong with the given line."""
    command = _command(given, program)
    flag, _, value = options_in(fix.removeprefix("use ")).partition(" ")
    option = options_by_flag(command).get(flag) if command else None
    # A pair, as of --set, stands beside the others and replaces none.
    if option is None or option.is_flag or len(shlex.split(value)) != 1 or "=" in value:
        return
    apart = (word.split("=", 1) if word.partition("=")[0] in option.opts else [word] for word in given)
    words = [part for parts in apart for part in parts]
    places = [at for at, word in enumerate(words, 1) if word in option.opts]
    if len(places) != 1 or [*words, "-"][places[0]].startswith("-"):
        return
    words[places[0]] = shlex.split(value)[0]
    fault = fault_of(words, words, program)
    if fault in (None, error.fact) or str(fault).startswith(tuple(f"{name} " for name in option.opts)):
        # The value may stand for one that is to be chosen.
        return
    again = _mended_again(words, words, program)
    error.fix = f"{shlex.join([program.name, *again])} # besides, {fault}" if again else f"{fix}; besides, {fault}"


def _mended_again(words: Sequence[str], given: Sequence[str], program: Program) -> list[str] | None:
    """The sound command line that the error of a line proposes, whole or as an option with another value; else None."""
    refused = program.refusal(words)
    fix = render(refused.parts["fix"] or "", flag_naming) if isinstance(refused, SlmtokError) else ""
    meant, flag, value = _words(fix), *fix.partition(" ")[::2]
    if not fix.startswith(f"{program.name} "):
        is_value = words.count(flag) == 1 and meant is not None and len(shlex.split(value)) == 1
        meant = [value if before == flag else word for before, word in pairwise(["", *words])] if is_value else None
    return meant if meant and fault_of(meant, [*given, *meant], program) is None else None


def _words(line: str) -> list[str] | None:
    """The words of a command line without the program; None for several commands, and for what only prints help."""
    if _SEVERAL.search(QUOTED.sub("", line)):
        return None
    with suppress(ValueError):
        words = shlex.split(line)[1:]
        return None if not _ANSWERED.isdisjoint(words) else words
    return None


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
