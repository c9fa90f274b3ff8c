"""`slmtok COMMAND --help`, rendered by typer from what the command declares. Nothing else needs typer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from slmtok.cli._declare import Argument, Parameter


def show_help(command: str, function: Callable[..., object], known: Sequence[Parameter]) -> int:
    """Prints the help of a command and gives the exit status."""
    import typer

    app = typer.Typer(
        add_completion=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.command()(_declared(function, known))
    try:
        typer.main.get_command(app).main(["--help"], prog_name=f"slmtok {command}", standalone_mode=False)
    except typer.Exit as stop:
        return int(stop.exit_code)
    return 0


def _declared(function: Callable[..., object], known: Sequence[Parameter]) -> Callable[..., object]:
    """A function of the same signature, in typer's own words."""

    def stand_in(**arguments: object) -> None:
        """Is never called."""

    found = [
        inspect.Parameter(
            parameter.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if parameter.required else parameter.default,
            annotation=Annotated[_plain(parameter), _in_typer(parameter)],
        )
        for parameter in known
    ]
    stand_in.__doc__ = function.__doc__
    stand_in.__annotations__ = {parameter.name: parameter.annotation for parameter in found}
    stand_in.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    return stand_in


def _plain(parameter: Parameter) -> Any:
    return parameter.type


def _in_typer(parameter: Parameter) -> Any:
    import typer

    declared = parameter.declared
    if isinstance(declared, Argument):
        return typer.Argument(metavar=declared.metavar, help=declared.help, show_default=declared.show_default)
    return typer.Option(
        *declared.names,
        help=declared.help,
        metavar=declared.metavar,
        show_default=declared.show_default,
        rich_help_panel=declared.rich_help_panel,
    )
