"""Tables whose names say nothing of it, so that they are read as prose: by their first rows."""

from __future__ import annotations

import csv
import shlex
from codecs import BOM_UTF8
from collections.abc import Sequence
from typing import NamedTuple

from slmtok.corpus.contents import begins_with_record, text_head_of
from slmtok.corpus.formats import format_of
from slmtok.corpus.paths import STDIN
from slmtok.corpus.tables import are_names, longest_column, short
from slmtok.corpus.template import LIKELY_FIELDS, Template, template_of
from slmtok.options import ReadOptions

_HEAD_BYTES = 1 << 12
_MAX_FILES = 256
"""Files of a corpus that are looked at."""
_MIN_ROWS = 3
"""Rows of equal width from which on lines are a table."""
_USUAL_NAMES = {*LIKELY_FIELDS, "id", "title", "label", "sentence", "url", "lang", "language", "author", "date"}
"""Names of columns of which the header of a table has one; a line of prose with commas is no header."""


class TableFound(NamedTuple):
    """path: of the source. fact: what it is and what of it is read as text. fix: what `options` are for, or "".

    options: flags with which a command reads its text instead.
    """

    path: str
    fact: str
    fix: str
    options: str


class _Table(NamedTuple):
    """format: csv or tsv. header: the names of the columns, or []. column: the name or the number of the text."""

    format: str
    header: list[str]
    column: str


def table_among(paths: Sequence[str], options: ReadOptions) -> TableFound | None:
    """The first source that is read as text, because its name has no format, and is a table; else None."""
    if options.format != "auto":
        return None
    texts = (path for path in paths[:_MAX_FILES] if format_of(path, options).engine == "text")
    return next(
        (found for path in texts if (found := _described(path, text_head_of(path, options, _HEAD_BYTES)))), None
    )


def records_among(paths: Sequence[str], options: ReadOptions) -> str | None:
    """The format of records that the first source read as text looks like, where fields are named; else None.

    A line of prose has commas; a table has a header, or the columns that are named by number.
    """
    if options.format != "auto":
        return None
    texts = (path for path in paths[:_MAX_FILES] if format_of(path, options).engine == "text")
    found = (_records_in(text_head_of(path, options, _HEAD_BYTES), path, template_of(options)) for path in texts)
    return next((name for name in found if name), None)


def _records_in(head: bytes, path: str, template: Template) -> str | None:
    """The format of the records in a text with these first bytes, by their keys, or the names of their columns."""
    if begins_with_record(head):
        return "jsonl"
    lines = head.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")
    if table := _table(lines, is_whole=len(head) < _HEAD_BYTES and path != STDIN):
        return table.format
    first, second, *_ = [*lines.decode("utf-8", "replace").split("\n"), ""]
    if 0 < first.count("\t") == second.count("\t"):
        return "tsv"
    rows = {"tsv": first.split("\t"), "csv": next(csv.reader([first]), [])}
    return next((name for name, row in rows.items() if len(row) > 1 and {*template.fields} & {*row}), None)


def _described(path: str, head: bytes) -> TableFound | None:
    """The table that a text is, with what to do."""
    lines = head.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")
    table = _table(lines, is_whole=len(head) < _HEAD_BYTES and path != STDIN)
    if table is None:
        return None
    options = f"--format {table.format} --text-key {shlex.quote(table.column)}"
    named = f" ({', '.join(map(short, table.header))})" if table.header else ""
    fix = "" if table.header else "for the text of one column"
    return TableFound(path, f"looks like {table.format}{named}, and its columns were read as text", fix, options)


def _table(head: bytes, *, is_whole: bool) -> _Table | None:
    """The table that a text with these first bytes is; None for prose, in which commas are frequent and tabs are not.

    is_whole: whether the last row is complete.
    """
    lines = head.decode("utf-8", "replace").split("\n")
    lines = [line for line in (lines if is_whole else lines[:-1]) if line]
    rows = [line.split("\t") for line in lines]
    # The header of an index is empty; other lines that begin with a tab are indented.
    if _is_even(rows) and all(row[0] for row in rows[not rows[0][0] :]):
        return _Table("tsv", *_column_of_text(rows))
    try:
        rows = [row for row in csv.reader(f"{line}\n" for line in lines) if row]
    except csv.Error:
        return None
    # A value in quotes may have been cut.
    rows = rows if is_whole else rows[:-1]
    if not _is_even(rows):
        return None
    header, column = _column_of_text(rows)
    return _Table("csv", header, column) if header else None


def _is_even(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows have the same number of columns, of which there are several."""
    return len(rows) >= _MIN_ROWS and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows)


def _column_of_text(rows: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """The header of a table, or [], and its column of text: the one with a usual name, else the longest one."""
    first = list(rows[0])
    usual = {name.lower(): name for name in reversed(first) if name.lower() in _USUAL_NAMES}
    longest = longest_column(rows[1:])
    if not usual or not are_names(first):
        return [], str(longest + 1)
    return first, next((usual[name] for name in LIKELY_FIELDS if name in usual), first[longest])
