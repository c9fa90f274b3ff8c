"""The tables of options in docs/guide/commands.md, generated from the commands themselves.

`python tests/slmtok/cli/reference.py` puts them into the page; a test says when that is due.
"""

from __future__ import annotations

from pathlib import Path

from slmtok.cli import COMMANDS
from slmtok.cli._declare import Argument, Parameter, parameters
from slmtok.cli._run import load

PAGE = Path(__file__).resolve().parents[3] / "docs/guide/commands.md"
BEGIN, END = "<!-- options of {}: generated -->", "<!-- end -->"
COMMON = {"--json", "--quiet", "--traceback"}
"""Told once on the page, since every command has them."""


def table(name: str) -> str:
    """The options of one command as a table."""
    rows = [_row(param) for param in parameters(load(COMMANDS[name])) if not COMMON & set(param.declared.names)]
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *rows]) + "\n"


def _row(param: Parameter) -> str:
    declared = param.declared
    words = declared.metavar if isinstance(declared, Argument) else ", ".join(declared.names)
    value = "" if isinstance(declared, Argument) or param.flag else f" {declared.metavar}"
    shown = [f"{words}{value}", declared.help, _default(param)]
    return "| " + " | ".join(_cell(text, code=not index) for index, text in enumerate(shown)) + " |"


def _cell(text: str, *, code: bool) -> str:
    escaped = text.replace("|", "\\|").replace("\n", " ")
    return f"`{escaped}`" if code else escaped


def _default(param: Parameter) -> str:
    if isinstance(param.declared.show_default, str):
        return param.declared.show_default
    if param.required:
        return "required"
    nothing = param.default is None or param.default is False or param.declared.show_default is False
    return "" if nothing else str(param.default)


def fill(page: str) -> str:
    """The page with every table as it should be."""
    for name in COMMANDS:
        begin = BEGIN.format(name)
        before, mark, rest = page.partition(begin)
        assert mark, f"the page has no place for the options of {name}: {begin}"
        page = f"{before}{begin}\n{table(name)}{END}{rest.partition(END)[2]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
