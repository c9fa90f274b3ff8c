"""Options that act with others alone: each names what it needs, and one rule refuses it without that.

An option that saves time or guards a file, which scripts give to every command, is noted instead of refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator

import click

from slmtok.cli.arguments import (
    arguments_of,
    command_line,
    options_by_flag,
    parameter_name,
    positional_params,
    value_after,
    with_text_named,
)
from slmtok.errors import OptionError

NEVER = "never"
"""What an option needs that is taken by a command in which it has no effect."""
_HARMLESS = frozenset(["threads", "memory", "force"])
"""Names of options that are noted where they have no effect."""


def check_needs(ctx: click.Context) -> Iterator[str]:
    """The notes on harmless options without what they need. Raises `OptionError` for the first other one."""
    for param in ctx.command.params:
        needs = getattr(param, "needs", None)
        is_given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
        if needs is None or not is_given or (needs != NEVER and _has(needs, ctx)):
            continue
        name, given = parameter_name(param), _as_given(param, ctx)
        if needs == NEVER:
            yield f"{given} has no effect on {ctx.command_path}"
            continue
        fact = f"{given} has no effect without {needs}"
        if param.name in _HARMLESS:
            yield fact
            continue
        is_flag = needs.startswith("--") and " " not in needs
        with_needed = command_line(ctx, [*arguments_of(ctx), needs]) if is_flag else None
        if needs.endswith(" TEXT"):
            with_needed = with_text_named(needs.split()[0], ctx)
        fix = f"leave {name} out, or {with_needed or f'add {needs}'}"
        raise OptionError(fact, where=ctx.command_path, fix=fix, option=param.name)


def needed_param(needs: str, command: click.Command) -> click.Parameter:
    """The parameter of `--flag VALUE`, or of the placeholder of an argument."""
    flag = needs.split()[0]
    of_flag = options_by_flag(command).get(flag)
    return of_flag or next(each for each in positional_params(command) if flag in str(each.metavar))


def _has(needs: str, ctx: click.Context) -> bool:
    """Whether a parameter has a value, or one that `needs` names; the output `-` is no file."""
    param, value = needed_param(needs, ctx.command), needs.partition(" ")[2]
    found = ctx.params.get(param.name or "")
    if value and not value.isupper():
        return found in value.split("|")
    return bool(found) and not (param.name == "output" and found == "-")


def _as_given(param: click.Parameter, ctx: click.Context) -> str:
    """The option with the first of its values."""
    words = arguments_of(ctx)
    flags: Collection[str] = (*param.opts, *param.secondary_opts)
    flag = next((word for word in words if word.partition("=")[0] in flags), parameter_name(param))
    value = None if getattr(param, "is_flag", False) else value_after([flag], words)
    return shlex.join([flag] if value is None else [flag, value])
