"""Commands of a shell in messages, which a caller of Python reads as a call."""

from __future__ import annotations


class ShellCommand(str):
    """A command of a message; `in_python` is what a caller of Python pastes instead."""

    in_python: str

    def __new__(cls, command: str, in_python: str = "") -> ShellCommand:
        """`in_python` has a default for pickle, which sets it afterwards."""
        made = super().__new__(cls, command)
        made.in_python = in_python
        return made


def makes_folder(folder: str) -> ShellCommand:
    """The command that makes a folder, and those above it."""
    # `slmtok.errors` is imported at the start of every command, and shlex takes time.
    import shlex

    in_python = f"import pathlib; pathlib.Path({folder!r}).mkdir(parents=True)"
    return ShellCommand(f"mkdir -p {shlex.quote(folder)}", in_python)
