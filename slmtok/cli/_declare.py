"""How a command declares its options: `Annotated[int, Option("--threads", …)]` in the signature of its function.

The words are those of typer, which renders the help (`_help`). Parsing (`_parse`) does without it: importing typer and
what it brings takes longer than training a small tokenizer.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class BadValueError(ValueError):
    """A value that an option does not take; the message goes on behind the option's name."""


class Option:
    """An option: its spellings, and what stands for its value in the help."""

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str | None = None,
        parser: Callable[[Any], Any] | None = None,
        show_default: bool | str = True,
        rich_help_panel: str | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.parser = parser
        self.show_default = show_default
        self.rich_help_panel = rich_help_panel


class Argument:
    """A positional argument."""

    def __init__(self, *, metavar: str, help: str, show_default: bool | str = True) -> None:
        self.names = ()
        self.help = help
        self.metavar = metavar
        self.parser = None
        self.show_default = show_default
        self.rich_help_panel = None


@dataclass(frozen=True)
class Parameter:
    """One parameter of a command's function. `required`: there is no default. `many`: it gathers a list."""

    name: str
    type: Any
    declared: Option | Argument
    default: Any
    required: bool
    many: bool
    flag: bool

    @property
    def spelling(self) -> str:
        """How a person writes it: the first long option, or the placeholder of an argument."""
        if isinstance(self.declared, Argument):
            return self.declared.metavar
        return next(name for name in self.declared.names if name.startswith("--"))


def parameters(function: Callable[..., object]) -> list[Parameter]:
    """The parameters of a command's function, in order."""
    hints = typing.get_type_hints(function, include_extras=True)
    found: list[Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind, declared = typing.get_args(_annotated(hints[name]))
        required = parameter.default is inspect.Parameter.empty
        found.append(
            Parameter(
                name=name,
                type=kind,
                declared=declared,
                default=None if required else parameter.default,
                required=required,
                many=_is_list(kind),
                flag=kind is bool,
            )
        )
    return found


def _annotated(hint: Any) -> Any:
    """The `Annotated[…]` in a hint; Python 3.10 wraps it into an `Optional` where the default is None."""
    if typing.get_origin(hint) is typing.Annotated:
        return hint
    return next(part for part in typing.get_args(hint) if typing.get_origin(part) is typing.Annotated)


def _is_list(kind: Any) -> bool:
    return any(typing.get_origin(part) is list for part in (kind, *typing.get_args(kind)))
