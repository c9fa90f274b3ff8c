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
        # `-bash` is the name of a login shell in $0, of which click reads `-b`.
        **{f"-{shell[0]}": instead(f"{program} completion {shell}") for shell in SHELLS},
    }

    @command("completion", example=f'eval "$({program} completion bash)"', habits=habits)
    @argument("shell", metavar=f"[{'|'.join(SHELLS)}]", required=False, help="The shell; by default that of $SHELL.")
    def print_script(shell: str | None) -> Outcome:
        from click.shell_completion import get_completion_class

        shell = _shell(shell, program)
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


def _shell(name: str | None, program: str) -> str:
    """The shell with this name or path, or that of $SHELL. Raises `OptionError` for one without completion."""
    path = os.environ.get("SHELL", "")
    shell = PurePath(name or path).name
    if shell in SHELLS:
        return shell
    known = ", ".join(SHELLS)
    if not name:
        fact = f"no shell was named, and $SHELL is {repr(path) if path else 'not set'}"
        raise OptionError(fact, limit=known, fix=f"name it: {program} completion bash", option="shell")
    typed = PurePath(name).stem.lower()
    meant = _OTHER_NAMES.get(typed) or suggestion(typed, SHELLS)
    fix = f"{program} completion {meant}" if meant else ", or ".join(f"{program} completion {each}" for each in SHELLS)
    if typed in ("install", "enable", "setup"):
        fix = _install_line(program)
    fact = f"there is no completion for the shell {name!r}"
    raise OptionError(fact, limit=f"one of {known}", fix=fix, option="shell")


completion = _completion("slmtok")
slm_completion = _completion("slm")
