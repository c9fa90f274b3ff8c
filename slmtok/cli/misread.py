"""Words that would be read as something else than they mean: outputs as inputs, two numbers as one."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import click

from slmtok.cli.arguments import command_line, positional
from slmtok.errors import OptionError
from slmtok.files import free_name, read_file

_JSON = "--json"
_SCHEMA = re.compile(rb'\s*\{\s*"schema"\s*:\s*"(slm|slmtok)\.([a-z-]+)/')
_HEAD_BYTES = 200
_LENGTH = re.compile(
    r"(seq-len|seq-length|context|block-size|window|(?:micro-)?batch(?:-size)?|(?:max-)?length|max-(?:new-)?tokens"
    r"|top-k|d-model|dim|width|hidden-size|n-layers?|layers|n-heads?|heads)"
)
"""Options for lengths and sizes that are hundreds or few thousands."""
_TWO = re.compile(r"(\d{2,3}),(\d{3})", re.ASCII)


def refuse_file_of_json(ctx: click.Context, args: Sequence[str]) -> None:
    """Raises `OptionError` for `--json FILE`, as other tools take the name of an output: it would be an input here.

    A file that exists may be an input, and one that does not a misspelt one, where no other argument is given.
    """
    from slmtok.cli.files import names_tokenizer

    at = next((at for at, (flag, word) in enumerate(pairwise(args), 1) if flag == _JSON and _is_result(word)), None)
    if at is None or "--" in args[:at]:
        return
    name, rest = args[at], [*args[:at], *args[at + 1 :]]
    given = positional(ctx)
    if name not in given or not _is_complete(ctx, len(given) - 1):
        return
    exists = os.path.exists(name)  # noqa: PTH110
    takes_corpus = any(param.name == "corpus" for param in ctx.command.params)
    places = [param.nargs for param in ctx.command.params if isinstance(param, click.Argument)]
    is_extra = -1 not in places and len(given) > sum(places)
    if takes_corpus and not name.endswith(".json"):
        # Texts and records of the corpus.
        return
    if exists and (names_tokenizer(name) or not (is_extra or takes_corpus or _is_result_of(ctx, name))):
        return
    if not exists and len(given) == 1 and _is_misspelt(name):
        return
    target = free_name(name)
    folder = str(Path(name).parent)
    made = "" if os.path.isdir(folder) else f"mkdir -p {shlex.quote(folder)} && "  # noqa: PTH112
    fact = f"--json takes no value, and {name!r} after it is " + ("an argument" if exists else "no file")
    as_input = f"; to read {name}, name it before --json" if exists and takes_corpus and not is_extra else ""
    raise OptionError(
        fact,
        where=ctx.command_path,
        limit="the JSON goes to stdout",
        fix=f"{made}{command_line(ctx, rest)} > {shlex.quote(target)}{as_input}",
        option=_JSON,
    )


def _is_result(word: str) -> bool:
    """Whether a word is the name of a file as one gives to results."""
    return not word.startswith("-") and word.endswith((".json", ".jsonl", ".txt", ".log"))


def _is_misspelt(name: str) -> bool:
    """Whether a file beside has nearly this name."""
    from difflib import get_close_matches

    with suppress(OSError):
        return bool(get_close_matches(Path(name).name, os.listdir(Path(name).parent), n=1, cutoff=0.85))  # noqa: PTH208
    return False


def _is_complete(ctx: click.Context, n_given: int) -> bool:
    """Whether so many arguments are enough for the command."""
    return n_given >= sum(param.required for param in ctx.command.params if isinstance(param, click.Argument))


def _is_result_of(ctx: click.Context, name: str) -> bool:
    """Whether a file has an earlier result of this very command."""
    found = _SCHEMA.match(read_file(name, _HEAD_BYTES)) if os.path.isfile(name) else None  # noqa: PTH113
    return found is not None and f"{found[1].decode()} {found[2].decode()}" == ctx.command_path


def refuse_two_lengths(ctx: click.Context, args: Sequence[str]) -> None:
    """Raises `OptionError` for `--seq-len 64,128`, which is written like the number 64,128, a length that none has."""
    metavars = {flag: str(param.metavar or "") for param in ctx.command.params for flag in param.opts}
    for flag, name, value in _settings(args):
        found = _TWO.fullmatch(value)
        if (
            not found
            or not _LENGTH.fullmatch(name.rpartition(".")[2].replace("_", "-"))
            or "," in metavars.get(flag, "")
        ):
            continue
        first, number = int(found[1]), int(found[1] + found[2])
        if first < 10 or int(found[2]) < first or not number % 1000 or number & (number - 1) == 0:
            continue
        start = f"{flag} " if name == flag.lstrip("-") else f"{flag} {name}="
        raise OptionError(
            f"{start}{value} is one number, {number:,}, or two",
            where=ctx.command_path,
            limit="one number, without a comma",
            fix=f"{start}{first}, and a command for {int(found[2])}; or {start}{number}",
            option=flag,
        )


def _settings(args: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(flag, name, value) of options with a value; the name is that of a setting behind --set."""
    for flag, value in pairwise([*args, ""]):
        if not flag.startswith("--"):
            continue
        if "=" in flag:
            flag, _, value = flag.partition("=")
        if flag == "--set":
            name, _, value = value.partition("=")
            yield flag, name, value
        else:
            yield flag, flag.lstrip("-"), value
