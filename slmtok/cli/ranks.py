"""The processes that torchrun starts: each would do the whole work of a command that one process runs."""

from __future__ import annotations

import os

import click

from slmtok.cli.arguments import arguments_of, command_line
from slmtok.errors import OptionError


def check_is_alone() -> None:
    """Raises `OptionError` for a command with an output in one of several processes of torchrun."""
    context = click.get_current_context()
    world_size = os.environ.get("WORLD_SIZE", "1")
    if "LOCAL_RANK" in os.environ and world_size != "1" and "output" in context.params:
        raise several_processes(context, world_size, "each process would write the same output")


def several_processes(context: click.Context, world_size: str, limit: str) -> OptionError:
    """The error for a command that one process runs; its fix is the command line, without torchrun."""
    return OptionError(
        f"{context.command_path} runs in one process, and torchrun started {world_size}",
        # What the program of a rank starts inherits the variables of torchrun.
        limit=f"{limit}; the program of one rank starts it by env -u LOCAL_RANK {context.command_path}",
        fix=command_line(context, arguments_of(context)),
    )
