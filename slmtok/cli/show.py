"""`slmtok show`: how tokenizers cut a text. With several, or with none, side by side on the same text."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from slmtok.cli import _options, _output, _paint
from slmtok.cli._numbers import grouped
from slmtok.cli._side_by_side import Cut, compare, cut, schemes
from slmtok.cli._tokenizers import is_tokenizer, open_tokenizer
from slmtok.corpus.streams import open_bytes
from slmtok.errors import InvalidOption, MissingInput

SAMPLE = (
    "Once upon a time there was a little fox who didn't like the rain 🦊.\n"
    "She said: “2026 was warm, wasn't it? Café naïve, 今天天气很好!”\n"
)
"""The text where none is given."""


_Items = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TOK...] [TEXT|-]", help=f"Any of {_options.TOKENIZER}; then the text.", show_default=False
    ),
]
_More = Annotated[
    list[str] | None,
    typer.Option(
        "--tokenizer", "-t", metavar="TOK", help="A further tokenizer. Repeat for several.", show_default=False
    ),
]
_Ids = Annotated[bool, typer.Option("--ids", help="Every token with its id below.")]
_ShowBytes = Annotated[bool, typer.Option("--bytes", help="Every token with its bytes below, in hex.")]


def show(
    items: _Items = None,
    more: _More = None,
    ids: _Ids = False,
    show_bytes: _ShowBytes = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Draw the token boundaries of a text.

    slmtok show tok.json "Once upon a time"    one tokenizer

    slmtok show tok.json tiktoken:gpt2 -       several, on the text from stdin

    slmtok show "Once upon a time"             the four schemes, trained on the spot on stories of our own
    """
    names, text = _sort_out(items or [], more or [])
    data = _read(text)
    if names:
        cuts = [cut(name, open_tokenizer(name), data) for name in names]
    else:
        cuts = schemes(data)
    return _output.Outcome(
        {"bytes": len(data), "tokenizers": [found.to_dict() for found in cuts]},
        lambda: _print(cuts, data, ids=ids, show_bytes=show_bytes, quiet=quiet),
    )


def _sort_out(items: Sequence[str], more: Sequence[str]) -> tuple[list[str], str | None]:
    """(tokenizers, text): what names a tokenizer is one, one other argument may be the text, and it comes last."""
    names = list(more)
    rest = list(items)
    while rest and is_tokenizer(rest[0]):
        names.append(rest.pop(0))
    if rest and rest[0].endswith(".json") and not any(char.isspace() for char in rest[0]):
        raise MissingInput(
            f"no file {rest[0]!r}",
            where="slmtok show",
            fix="check the name, or add a space if it is text",
            path=rest[0],
        )
    if len(rest) > 1:
        raise InvalidOption(
            f"{rest[0]!r} is no tokenizer file, and a text is one argument",
            where="slmtok show",
            fix="put quotes around the text",
        )
    return names, rest[0] if rest else None


def _read(text: str | None) -> bytes:
    if text == "-" or (text is None and _has_input()):
        with open_bytes("-") as stream:
            return stream.read()
    return SAMPLE.encode() if text is None else os.fsencode(text)


def _has_input() -> bool:
    """Whether stdin is a pipe or a file; not a terminal, not /dev/null, not closed."""
    if sys.stdin is None:
        return False
    try:
        return not stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _print(cuts: Sequence[Cut], data: bytes, *, ids: bool, show_bytes: bool, quiet: bool) -> None:
    colour = _output.colour(sys.stdout)
    width = max(40, shutil.get_terminal_size((100, 24)).columns - 2)
    bold, off = ("\x1b[1m", "\x1b[0m") if colour else ("", "")
    for index, found in enumerate(cuts):
        head = f"{bold}{_output.printable(found.name)}{off}  {found.about}"
        numbers = f"{grouped(len(found.ids))} tokens, {found.bytes_per_token:.2f} bytes per token"
        if not quiet:
            _output.write_text(("\n" if index else "") + f"{head}: {numbers}\n")
        _output.write_text(_body(found, ids=ids, show_bytes=show_bytes, colour=colour, width=width) + "\n")
    if len(cuts) > 1 and not quiet:
        _output.write_text("\n" + compare(cuts, len(data), width))


def _body(found: Cut, *, ids: bool, show_bytes: bool, colour: bool, width: int) -> str:
    if not (ids or show_bytes):
        return _indent(_paint.draw(found.tokens, colour=colour).rstrip("\n"))
    columns: list[list[Any]] = []
    for id, word, token in zip(found.ids, found.words, found.tokens, strict=True):
        column = [word]
        if ids:
            column.append(str(id))
        if show_bytes:
            column.append(token.hex(" "))
        columns.append(column)
    return _indent(_paint.grid(columns, width))


def _indent(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() if not line else f"  {line}" for line in text.split("\n"))
