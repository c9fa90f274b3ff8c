"""Wrong usage in the house style: what typer and click complain about, and commands that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from slmmodel.cli import _output
from slmmodel.errors import InvalidOption, SlmmodelError, UnknownName, suggestion


def unknown_command(name: str, rest: Sequence[str], known: Iterable[str]) -> int:
    """Prints the error for a command that does not exist and gives the exit status."""
    names = list(known)
    meant = suggestion(name.replace("_", "-"), names)
    error = UnknownName(
        f"unknown {'option' if name.startswith('-') else 'command'} {name!r}"
        + (f"; did you mean {meant!r}?" if meant else ""),
        limit=f"commands: {', '.join(names)}",
        fix=" ".join(["slm", meant, *rest]) if meant else "slm --help",
        name=name,
    )
    if "--json" in rest:
        _output.write_text(_output.envelope("unknown", result=None, error=error))
    _output.print_error(error)
    return _output.USAGE


def explain(error: Any, command: str, own: Sequence[str]) -> SlmmodelError:
    """A click usage error as one of ours. `own` are the long options of the command.

    The classes are told apart by name, since typer brings its own copy of click in some versions and not in others.
    """
    kind, where, fix = type(error).__name__, f"slm {command}", f"slm {command} --help"
    if kind == "NoSuchOption":
        name = str(error.option_name)
        meant = suggestion(name, own)
        fact = f"unknown option {name!r}" + (f"; did you mean {meant!r}?" if meant else "")
        return InvalidOption(fact, where=where, fix=f"use {meant}" if meant else fix, option=name)
    if kind in ("MissingParameter", "BadParameter"):
        name = _spelling(error.param)
        what = "is missing" if kind == "MissingParameter" else error.message
        return InvalidOption(f"{name} {what}", where=where, fix=fix, option=name)
    message = str(getattr(error, "message", error)).rstrip(".")
    return InvalidOption(message[:1].lower() + message[1:], where=where, fix=fix, option="")


def _spelling(param: Any) -> str:
    """How a person writes a parameter: the first long option, or the placeholder of an argument."""
    if param is None:
        return "an argument"
    long = [option for option in param.opts if option.startswith("--")]
    return long[0] if long else str(param.metavar or param.name).upper()
