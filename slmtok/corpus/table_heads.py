"""The first rows of a table, and what they say of how it is read."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import NamedTuple

from slmtok.corpus.contents import text_head_of
from slmtok.corpus.csv_dialects import rows_by_tabs
from slmtok.corpus.formats import format_of
from slmtok.corpus.tables import are_names
from slmtok.corpus.template import LIKELY_FIELDS, template_of
from slmtok.errors import SlmtokError
from slmtok.options import ReadOptions

_HEAD_BYTES = 1 << 16
_MIN_ROWS = 3
"""Rows behind the first one from which on their numbers say something."""
_MAX_TABLES = 16
"""Tables of a corpus that are looked at."""


class TableHead(NamedTuple):
    """path: of the table. first: its first row. texts: in the first rows, the values of the columns that are read.

    is_by_tabs: whether a table of format csv has tabs between its columns. has_names: whether the first row names the
    columns, of which one holds numbers.
    """

    path: str
    first: list[str]
    texts: list[list[str]]
    is_by_tabs: bool
    has_names: bool


def table_heads(paths: Sequence[str], options: ReadOptions, name: str) -> list[TableHead]:
    """The heads of the first tables of format `name`: csv or tsv."""
    tables = [path for path in paths[:_MAX_TABLES] if format_of(path, options).name == name]
    return [head for path in tables if (head := _head_of(path, options, name)) is not None]


def named_columns(head: TableHead, options: ReadOptions) -> list[str]:
    """The names of the columns that are read by number, where the first row is a header; else none.

    One of them is a usual name of text, or the values of a column show it.
    """
    template = template_of(options)
    if not template.numbered:
        return []
    names = [head.first[int(number) - 1] for number in template.fields]
    is_header = head.has_names or bool({*map(str.lower, names)} & {*LIKELY_FIELDS})
    return names if is_header and "" not in names else []


def are_quoted(head: TableHead) -> bool:
    """Whether all values that are read begin and end with a double quote."""
    values = [text for row in head.texts for text in row]
    return len(head.texts) > 1 and all(len(each) > 1 and each[0] == each[-1] == '"' for each in values)


def _head_of(path: str, options: ReadOptions, name: str) -> TableHead | None:
    """The head of a table; None for a stream, and for one whose rows its reader refuses."""
    try:
        head = text_head_of(path, options, _HEAD_BYTES) if path != "-" else b""
        lines = head.decode("utf-8-sig", "replace").splitlines(keepends=True)
        if name == "tsv":
            rows = [line.rstrip("\r\n").split("\t") for line in lines if line.strip("\r\n")]
        else:
            rows = [row for row in csv.reader(lines) if row]
    except (OSError, SlmtokError, csv.Error):
        return None
    # The last row may be cut.
    if len(head) >= _HEAD_BYTES:
        rows, lines = rows[:-1], lines[:-1]
    template = template_of(options)
    if not rows or not (template.numbered or {*template.fields} <= {*rows[0]}):
        return None
    columns = [int(field) - 1 if template.numbered else rows[0].index(field) for field in template.fields]
    texts = [row for row in rows[not template.numbered :] if len(row) == len(rows[0]) > max(columns)]
    if not texts:
        return None
    values = [[row[column] for column in columns] for row in texts]
    return TableHead(
        path, rows[0], values, name == "csv" and rows_by_tabs(lines) is not None, _has_names(rows, columns)
    )


def _has_names(rows: Sequence[Sequence[str]], read: Sequence[int]) -> bool:
    """Whether the first row may name the columns, and has no number where all others have one that is not `read`."""
    others = [row for row in rows[1:] if len(row) == len(rows[0])]
    if len(others) < _MIN_ROWS or not are_names(rows[0]):
        return False
    columns = [*zip(*others, strict=True)]
    beside = (at for at, name in enumerate(rows[0]) if name and at not in read)
    return any(all(map(str.isdecimal, columns[at])) for at in beside)
