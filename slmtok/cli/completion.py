"""`slmtok completion` and `slm completion`: the script with which a shell completes a command line."""

from __future__ import annotations

import os
import shlex
from pathlib import PurePath

import click

from slmtok.cli.options import Command, Habit, argument, command, instead
from slmtok.cli.output import Outcome, write_text
from slmtok.errors import OptionError, suggestion

SHELLS = ("bash", "zsh", "fish", "powershell")
_OTHER_NAMES = {"pwsh": "powershell", "sh": "bash"}
_HELP = """\
Print the script with which a shell completes commands, options and file names.

\b
in ~/.bashrc                   eval "$({program} completion bash)"
in ~/.zshrc, after compinit    eval "$({program} completion zsh)"
in ~/.config/fish/config.fish  {program} completion fish | source
in $PROFILE of PowerShell
    {program} completion powershell | Out-String | Invoke-Expression
"""


def _completion(program: str) -> Command:
    """The command `completion` of a program."""

    habits: dict[str, Habit] = {
        "--shell": instead(f"{program} completion {{}}", "bash"),
        "--install": lambda value, arguments: _install_line(program),
    }

    @command("completion", example=f'eval "$({program} completion bash)"', habits=habits)
    @argument("shell", metavar=f"[{'|'.join(SHELLS)}]", required=False, help="The shell; by default that of $SHELL.")
    def print_script(shell: str | None) -> Outcome:
        from click.shell_completion import get_completion_class

        shell = _known_shell(shell, program) if shell else _own_shell(program)
        context = click.get_current_context()
        completer = get_completion_class(shell)
        assert completer is not None
        variable = context.meta["app"].completion_variable
        script = completer(context.find_root().command, {}, program, variable).source()
        return Outcome({"shell": shell, "script": script}, lambda: write_text(script))

    print_script.help = _HELP.format(program=program)
    return print_script


def _install_line(program: str) -> str:
    """The command that installs the completion for bash."""
    line = f'eval "$({program} completion bash)"'
    return f"printf '%s\\n' {shlex.quote(line)} >> ~/.bashrc"


def _known_shell(name: str, program: str) -> str:
    """The name of a shell. Raises `OptionError` for one without completion."""
    if name in SHELLS:
        return name
    meant = _OTHER_NAMES.get(name.lower()) or suggestion(name.lower(), SHELLS)
    fix = f"{program} completion {meant}" if meant else "go without it: --help shows commands and options"
    raise OptionError(
        f"there is no completion for the shell {name!r}",
        limit=f"one of {', '.join(SHELLS)}",
        fix=_install_line(program) if name.lower() in ("install", "enable", "setup") else fix,
        option="shell",
    )


def _own_shell(program: str) -> str:
    """The shell of $SHELL. Raises `OptionError` where there is none, or another one."""
    path = os.environ.get("SHELL", "")
    name = PurePath(path).name
    if name not in SHELLS:
        fact = f"$SHELL is {path!r}" if path else "$SHELL is not set"
        raise OptionError(
            f"no shell was named, and {fact}",
            limit=", ".join(SHELLS),
            fix=f"name it: {program} completion bash",
            option="shell",
        )
    return name


completion = _completion("slmtok")
slm_completion = _completion("slm")
