"""Remedies for an option that the command does not have: another command has it, or is called as it is.

Each is a command line of the words that were given.
"""

from __future__ import annotations

import os
import shlex

import click

from slmtok.cli.arguments import arguments_of, options_by_flag
from slmtok.cli.line_checks import Program, fault_of

_MAX_SHOWN_COMMANDS = 5
"""Commands with an option that an error lists; an option of more of them does not say which one is meant."""


def remedy_elsewhere(fact: str, name: str, value: str | None, context: click.Context) -> tuple[str, str] | None:
    """(fact, fix) for an unknown option that other commands have, or that is the name of one; None for other names.

    The fix is the given line without the option, where that is sound.
    """
    program, words = _program(context), arguments_of(context)
    at = next((at for at, word in enumerate(words) if word.partition("=")[0].replace("_", "-") == name), None)
    if program is None or at is None:
        return None
    where, rest = context.command_path, [*words[:at], *words[at + 1 :]]
    called = [name[2:], *rest]
    is_flag = value is None or os.path.exists(value)  # noqa: PTH110
    if name[2:] in program.commands and is_flag and fault_of(called, words, program) is None:
        return f"{fact}, which is a command", shlex.join([program.name, *called])
    others = _commands_with(name, context)
    if not others:
        return None
    listed = ", ".join(f"{program.name} {other}" for other in [*others][:_MAX_SHOWN_COMMANDS])
    more = f" and {len(others) - _MAX_SHOWN_COMMANDS} more" if len(others) > _MAX_SHOWN_COMMANDS else ""
    ours = ", ".join(flag for flag in options_by_flag(context.command) if flag[:2] == "--" and flag.endswith(name[1:]))
    has = f"; {where} has {ours}" if ours else ""
    has_value = value is not None and "=" not in words[at] and not all(others.values())
    without = [*words[:at], *words[at + 1 + has_value :]]
    if not ours and fault_of([str(context.info_name), *without], words, program) is None:
        # The command is what was meant: another one may train where this one only reads.
        return f"{fact}, which belongs to {listed}{more}", shlex.join([*where.split(), *without])
    given = shlex.join(words[at : at + 1 + has_value])
    return fact, f"leave out {given}: {name} belongs to {listed}{more}{has}"


def _program(context: click.Context) -> Program | None:
    app = context.meta.get("app")
    program: Program | None = app and app.program
    return program


def _commands_with(name: str, context: click.Context) -> dict[str, bool]:
    """The other commands of the program that have an option of this name, and whether it is without a value there."""
    parent = context.parent
    if parent is None or not isinstance(parent.command, click.Group):
        return {}
    loaded = ((each, parent.command.get_command(parent, each)) for each in parent.command.list_commands(parent))
    options = ((each, options_by_flag(command).get(name)) for each, command in loaded if command)
    return {each: option.is_flag for each, option in options if option}
