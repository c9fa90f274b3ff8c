"""Wrong usage in the house style: what typer and click complain about, and commands that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from slmtok.cli import _output
from slmtok.errors import InvalidOption, SlmtokError, UnknownName, suggestion

EXAMPLES = {
    "train": "slmtok train corpus.txt --vocab 8192 -o tok.json",
    "count": "slmtok count corpus/ -o all.counts",
    "merge": "slmtok merge part-*.counts -o all.counts",
    "slice": "slmtok slice tok.json --vocab 4096 -o small.json",
    "extend": "slmtok extend tok.json more.txt --vocab 16384 -o larger.json",
    "prune": "slmtok prune tok.json --unused-on corpus.txt --keep 4096 -o small.json",
    "name": "slmtok name tok.json 'user=<|user|>' -o chat.json",
    "encode": "slmtok encode text.txt -t tok.json",
    "decode": "slmtok decode ids.txt -t tok.json",
    "pack": "slmtok pack corpus/ -t tok.json -o data",
}
"""A command line that works, for those whose required options one may not guess."""


def unknown_command(name: str, rest: Sequence[str], known: Iterable[str]) -> int:
    """Prints the error for a command that does not exist and gives the exit status."""
    names = list(known)
    meant = suggestion(name.replace("_", "-"), names)
    error = UnknownName(
        f"unknown {'option' if name.startswith('-') else 'command'} {name!r}"
        + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"commands: {', '.join(names)}",
        fix=" ".join(["slmtok", meant, *rest]) if meant else "slmtok --help",
        name=name,
    )
    if "--json" in rest:
        _output.write_text(_output.envelope("unknown", result=None, error=error))
    _output.print_error(error)
    return _output.USAGE


def explain(error: Any, command: str, own: Sequence[str]) -> SlmtokError:
    """A click usage error as one of ours. `own` are the long options of the command.

    The classes are told apart by name, since typer brings its own copy of click in some versions and not in others.
    """
    kind = type(error).__name__
    help_line = f"slmtok {command} --help"
    if kind == "NoSuchOption":
        name = str(error.option_name)
        meant = suggestion(name, own)
        fact = f"unknown option {name!r}" + (f"; did you mean {meant!r}?" if meant else "")
        return InvalidOption(fact, where=f"slmtok {command}", fix=f"use {meant}" if meant else help_line, option=name)
    if kind == "MissingParameter":
        name = _spelling(error.param)
        return InvalidOption(
            f"{name} is missing", where=f"slmtok {command}", fix=EXAMPLES.get(command, help_line), option=name
        )
    if kind == "BadParameter":
        name = _spelling(error.param)
        return InvalidOption(f"{name} {error.message}", where=f"slmtok {command}", fix=help_line, option=name)
    message = str(getattr(error, "message", error)).rstrip(".")
    return InvalidOption(message[:1].lower() + message[1:], where=f"slmtok {command}", fix=help_line)


def _spelling(param: Any) -> str:
    """How a person writes a parameter: the first long option, or the placeholder of an argument."""
    if param is None:
        return "an argument"
    long = [option for option in param.opts if option.startswith("--")]
    return long[0] if long else str(param.metavar or param.name).upper()
