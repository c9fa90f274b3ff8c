"""The tables of options in docs/guide/commands.md, generated from the commands themselves.

`python tests/slmtok/cli/reference.py` puts them into the page; a test says when that is due.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import click

from slmtok.cli import APP, COMMANDS

PAGE = Path(__file__).resolve().parents[3] / "docs/guide/commands.md"
BEGIN, END = "<!-- options of {}: generated -->", "<!-- end -->"
COMMON = {"--json", "--quiet", "--traceback"}
"""Told once on the page, since every command has them."""


def table(name: str) -> str:
    """The options of one command as a table."""
    rows = [_row(param) for param in APP.command(name).params if not COMMON & set(param.opts)]
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *rows]) + "\n"


def _row(param: Any) -> str:
    flag = param.opts[0].startswith("-")
    long_first = sorted(param.opts, key=lambda option: not option.startswith("--"))
    words = ", ".join([*long_first, *param.secondary_opts]) if flag else str(param.metavar or param.name)
    value = "" if not flag or param.is_flag else f" {param.metavar}"
    shown = [words + value, param.help or "", _default(param)]
    return "| " + " | ".join(_cell(text, code=not index) for index, text in enumerate(shown)) + " |"


def _cell(text: str, *, code: bool) -> str:
    escaped = text.replace("|", "\\|").replace("\n", " ")
    return f"`{escaped}`" if code else escaped


def _default(param: Any) -> str:
    show_default = getattr(param, "show_default", False)
    if isinstance(show_default, str):
        return show_default
    if param.required:
        return "required"
    default = param.get_default(click.Context(click.Command("x")))
    nothing = default in (None, False, ()) or show_default is False or isinstance(default, enum.Enum)
    return "" if nothing else str(default)


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
