"""`slmtok vocab`: the tokens of a tokenizer as a list, and its metadata for the model side."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from slmtok.cli import _files, _numbers, _options, _output
from slmtok.cli._classes import CLASSES, main_class
from slmtok.cli._tokenizers import open_tokenizer
from slmtok.errors import InvalidOption
from slmtok.specials import FIRST_LEARNED
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

_SORTS = ("id", "bytes")


@dataclass(frozen=True)
class Row:
    """One id. `parts`: the two ids that a merge joined, empty for all else; `role`: of a special."""

    id: int
    token: bytes
    parts: tuple[int, ...] = ()
    role: str | None = None
    special: bool = False

    def to_dict(self) -> dict[str, object]:
        """As `--json` prints it: `text` is null where the bytes are no UTF-8."""
        try:
            text = self.token.decode()
        except UnicodeDecodeError:
            text = None
        return {
            "id": self.id,
            "bytes": 0 if self.special else len(self.token),
            "hex": self.token.hex(),
            "text": text,
            "class": "special" if self.special else main_class(self.token),
            "role": self.role,
            "parts": list(self.parts) or None,
        }


_Grep = Annotated[
    str | None, typer.Option("--grep", metavar="REGEX", help="Only tokens that it finds.", show_default=False)
]
_Kind = Annotated[
    str | None,
    typer.Option(
        "--class",
        metavar="|".join(["special", *CLASSES]),
        parser=_options.choice("special", *CLASSES),
        help="Only tokens of this kind.",
        show_default=False,
    ),
]
_Sort = Annotated[
    str,
    typer.Option(
        "--sort", metavar="|".join(_SORTS), parser=_options.choice(*_SORTS), help="Order: id, or longest first."
    ),
]
_Metadata = Annotated[
    bool,
    typer.Option(
        "--metadata",
        help="Write vocab.json instead, which is all that a model knows.",
        rich_help_panel=_options.OUTPUT,
    ),
]


def vocab(
    tokenizer: _options.TokenizerArgument,
    grep: _Grep = None,
    kind: _Kind = None,
    sort: _Sort = "id",
    metadata: _Metadata = False,
    output: _options.Output = None,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """List tokens: id, bytes, the token itself, and the two parts that were merged.

    A space shows as ␣, line feed as \\n, bytes that are no UTF-8 as \\xNN. The list has a heading only on a terminal.
    """
    target = output or _files.STDIO
    if metadata:
        _refuse_filters(grep, kind, sort)
    if output is not None:
        _files.not_with_json(target, as_json)
    _files.check_output(target, inputs=[tokenizer], force=force)
    tok = open_tokenizer(tokenizer)
    if metadata:
        if as_json and output is None:
            return _output.Outcome(tok.metadata())
        return _write_metadata(tok, target, force=force, quiet=quiet)
    rows = _select(_rows(tok), grep, kind, sort)
    if as_json and output is None:
        return _output.Outcome({"n_vocab": tok.n_vocab, "rows": [row.to_dict() for row in rows]})
    with _files.writing(target, force=force) as stream:
        if output is None and sys.stdout.isatty() and not quiet:
            stream.write(b"    id  bytes  token                     parts\n")
        for row in rows:
            stream.write(_line(row).encode())
    return _output.Outcome({"path": target, "rows": len(rows)})


def _refuse_filters(grep: str | None, kind: str | None, sort: str) -> None:
    """`--metadata` is about all ids, in their order. Raises `InvalidOption`."""
    for option, given in (("--grep", grep is not None), ("--class", kind is not None), ("--sort", sort != "id")):
        if given:
            raise InvalidOption(
                f"{option} with --metadata, which is always about all ids",
                where="slmtok vocab",
                fix=f"leave {option} out",
                option=option,
            )


def _write_metadata(tok: Tokenizer, target: str, *, force: bool, quiet: bool) -> _output.Outcome:
    from slmtok.vocabulary import render_metadata

    content = tok.metadata()
    with _files.writing(target, force=force) as stream:
        stream.write(render_metadata(content))

    def show() -> None:
        if target != _files.STDIO and not quiet:
            sys.stdout.write(f"{target}: {_numbers.grouped(tok.n_vocab)} ids, fingerprint {tok.fingerprint}\n")

    return _output.Outcome({"path": target, "n_vocab": tok.n_vocab, "fingerprint": tok.fingerprint}, show)


def _rows(tok: Tokenizer) -> Iterator[Row]:
    """All ids in order, holes left out."""
    vocabulary = tok.vocabulary
    joined = (merge for merge in vocabulary.merges if len(merge) == 2)
    parts = {FIRST_LEARNED + index: merge for index, merge in enumerate(joined)}
    specials = {slot.id: slot for slot in tok.specials.tokens}
    for id, token in enumerate(vocabulary.token_table):
        if token is not None:
            yield Row(id, token, parts.get(id, ()))
        elif id in specials:
            slot = specials[id]
            yield Row(id, (slot.text or "").encode(), role=slot.role, special=True)


def _select(rows: Iterator[Row], grep: str | None, kind: str | None, sort: str) -> list[Row]:
    chosen = list(rows)
    if kind == "special":
        chosen = [row for row in chosen if row.special]
    elif kind is not None:
        chosen = [row for row in chosen if not row.special and CLASSES[kind](row.token)]
    if grep is not None:
        try:
            regex = re.compile(grep)
        except re.error as error:
            raise InvalidOption(
                f"--grep {grep!r} is no regular expression: {error}",
                where="slmtok vocab",
                limit="as in Python's re",
                fix=f"--grep '{re.escape(grep)}' for these characters themselves",
                option="grep",
            ) from None
        chosen = [row for row in chosen if regex.search(row.token.decode("utf-8", "surrogateescape"))]
    if sort == "bytes":
        chosen.sort(key=lambda row: (-len(row.token), row.id))
    return chosen


def _line(row: Row) -> str:
    size = 0 if row.special else len(row.token)
    last = "+".join(map(str, row.parts))
    if row.special:
        last = row.role or "reserved"
    return f"{row.id:>6}  {size:>5}  {escape_token(row.token):<24}  {last}".rstrip() + "\n"
