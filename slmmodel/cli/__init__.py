"""The command `slm`: a registry of commands, and `main`, which imports the one that was asked for.

Help and version need neither torch nor numpy. A command that needs an optional package says so in its line; where the
package is missing, the install line is printed and the status is 1. To add a command, write its file with a function
`run(arguments)` and its line in `COMMANDS`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple, TextIO


class Command(NamedTuple):
    """Where a command lives, what it does in one line, and which optional package it cannot do without."""

    module: str
    summary: str
    needs: str | None = None


COMMANDS: dict[str, Command] = {
    "info": Command("slmmodel.cli.info", "what is in a vocab.json"),
}
_INSTALL = {"torch": "pip install 'slmtok[model]'"}


def help_text() -> str:
    """What `slm --help` prints."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return (
        "slm: small language models over token ids\n\n"
        "Usage: slm COMMAND [ARGUMENTS]   |   slm --help   |   slm --version\n\n"
        "Commands:\n" + "\n".join(lines) + "\n\n"
        "slm COMMAND --help tells how to use a command.\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (without the program's name) and returns its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:
        return _fail("cannot write to stdout: it is closed", fix="send stdout to a file, or to /dev/null")
    try:
        return _dispatch(arguments)
    except BrokenPipeError:
        _drop_stdout()
        return 0
    except KeyboardInterrupt:
        _tell("interrupted\n")
        return 130
    except OSError as error:
        _drop_stdout()
        return _fail(f"cannot write to stdout: {error.strerror or error}", fix="free some space, or use another disk")


def _dispatch(arguments: list[str]) -> int:
    first = arguments[0] if arguments else ""
    if first in ("--help", "-h"):
        return _print(help_text())
    if first in ("--version", "-V"):
        from importlib.metadata import version

        return _print(f"slm {version('slmtok')}\n")
    if not first:
        _tell(help_text())
        return 2
    if first not in COMMANDS:
        return _fail(f"unknown command {first!r}", limit=f"commands: {', '.join(COMMANDS)}", fix="slm --help", code=2)
    return _run(first, arguments[1:])


def _run(name: str, arguments: list[str]) -> int:
    from importlib import import_module
    from importlib.util import find_spec

    from slmmodel.errors import SlmmodelError

    command = COMMANDS[name]
    if command.needs is not None and find_spec(command.needs) is None:
        return _fail(f"'slm {name}' needs {command.needs}, which is not installed", fix=_INSTALL.get(command.needs))
    try:
        status: int = import_module(command.module).run(arguments)
        sys.stdout.flush()
        return status
    except SlmmodelError as error:
        return _fail(error.fact, where=error.where, limit=error.limit, fix=error.fix)


def _fail(
    fact: str, *, where: str | None = None, limit: str | None = None, fix: str | None = None, code: int = 1
) -> int:
    parts = (("where: ", where), ("limit: ", limit), ("fix:   ", fix))
    _tell(f"error: {fact}\n" + "".join(f"  {label}{part}\n" for label, part in parts if part))
    return code


def _tell(text: str) -> None:
    """A message on stderr, lost where nobody can hear it."""
    if sys.stderr is not None:
        try:
            sys.stderr.write(text)
        except OSError:
            _drop(sys.stderr)


def _print(text: str) -> int:
    sys.stdout.write(text)
    sys.stdout.flush()
    return 0


def _drop_stdout() -> None:
    """After the reader of a pipe has gone: keeps Python from complaining about it at its own end."""
    _drop(sys.stdout)


def _drop(stream: TextIO) -> None:
    import os

    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  (os.devnull is no path)
        os.dup2(nowhere.fileno(), stream.fileno())
