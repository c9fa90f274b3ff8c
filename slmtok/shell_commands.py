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
