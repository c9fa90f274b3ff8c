"""Command lines to arguments of a command's function, in the usual grammar.

`--name value`, `--name=value`, `-o value`, `-ovalue`, flags, options anywhere, `--` before arguments that begin with a
hyphen, `-` as an argument. `_` counts as `-` in the names of long options. Names are never completed: a shortened one
may mean another option tomorrow. What is wrong is told in the house style.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slmtok.cli._declare import Argument, BadValueError, Option, Parameter
from slmtok.cli._usage import EXAMPLES
from slmtok.errors import InvalidOption, suggestion


def parse(command: str, known: Sequence[Parameter], words: Sequence[str]) -> dict[str, Any]:
    """The arguments for the function, defaults included. Raises `InvalidOption`."""
    return _Line(command, known).read(list(words))


class _Line:
    """One command line being read."""

    def __init__(self, command: str, known: Sequence[Parameter]) -> None:
        self._command = command
        self._known = known
        self._options = {
            name: parameter
            for parameter in known
            if isinstance(parameter.declared, Option)
            for name in parameter.declared.names
        }
        self._places = [parameter for parameter in known if isinstance(parameter.declared, Argument)]
        self._found: dict[str, Any] = {}

    def read(self, words: list[str]) -> dict[str, Any]:
        free: list[str] = []
        while words:
            word = words.pop(0)
            if word == "--":
                free.extend(words)
                break
            if word.startswith("-") and word != "-":
                self._option(word, words)
            else:
                free.append(word)
        self._place(free)
        for parameter in self._known:
            if parameter.name not in self._found:
                if parameter.required:
                    raise self._wrong(f"{parameter.spelling} is missing", parameter, EXAMPLES.get(self._command))
                self._found[parameter.name] = parameter.default
        return self._found

    def _option(self, word: str, words: list[str]) -> None:
        """Takes one option, and its value from `words` where it stands apart."""
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        name = name.replace("_", "-") if word.startswith("--") else name
        parameter = self._options.get(name)
        if parameter is None:
            raise self._unknown(name)
        if parameter.flag:
            if equals:
                raise self._wrong(f"{name} takes no value", parameter)
            self._found[parameter.name] = True
            return
        if not equals:
            if not words:
                raise self._wrong(f"{name} needs a value", parameter)
            value = words.pop(0)
        self._store(parameter, value)

    def _store(self, parameter: Parameter, value: str) -> None:
        read: Any = value
        if parameter.declared.parser is not None:
            try:
                read = parameter.declared.parser(value)
            except BadValueError as error:
                raise self._wrong(f"{parameter.spelling} {error}", parameter) from None
        if parameter.many:
            self._found.setdefault(parameter.name, []).append(read)
        else:
            self._found[parameter.name] = read

    def _place(self, free: list[str]) -> None:
        for parameter in self._places:
            if parameter.many:
                if free:
                    self._found[parameter.name] = free
                free = []
            elif free:
                self._found[parameter.name] = free.pop(0)
        if free:
            raise InvalidOption(
                f"unexpected argument {free[0]!r}",
                where=f"slmtok {self._command}",
                fix=f"slmtok {self._command} --help",
            )

    def _unknown(self, name: str) -> InvalidOption:
        meant = suggestion(name, [option for option in self._options if option.startswith("--")])
        return InvalidOption(
            f"unknown option {name!r}" + (f"; did you mean {meant!r}?" if meant else ""),
            where=f"slmtok {self._command}",
            fix=f"use {meant}" if meant else f"slmtok {self._command} --help",
            option=name,
        )

    def _wrong(self, fact: str, parameter: Parameter, fix: str | None = None) -> InvalidOption:
        return InvalidOption(
            fact,
            where=f"slmtok {self._command}",
            fix=fix or f"slmtok {self._command} --help",
            option=parameter.spelling,
        )
