"""Format `csv`: rows of values between commas, quoted as in RFC 4180; one column or several make the document.

When to use it: tables as spreadsheets export them; quoted values may hold commas and line ends. Cost: about 10 s a
gigabyte, in Python. Guarantee: with columns by number (`{1}`, `{2}`), every row is a record; with columns by name, the
first row names them. A row whose number of columns differs from the first row's is an error that names file and line,
or is counted where skipping was requested. Empty lines are ignored. Bytes are kept as they are. A row, whose quotes may
hold any number of lines, has at most `max_doc_bytes`.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, tee
from typing import TYPE_CHECKING

from slmtok.corpus.csv_dialects import (
    common_mark,
    first_lines,
    fix_of_rows,
    name_of_rewritten,
    quoted_mark,
    rewritten,
    rows_by_tabs,
)
from slmtok.corpus.streams import bare_suffix, open_bytes
from slmtok.corpus.suffixes import format_of_name
from slmtok.corpus.tables import MAX_COLUMNS, Header, key_of, longest_column, refuse_many_columns
from slmtok.corpus.template import SKIP, Template, located, template_of
from slmtok.document_limits import document_too_large
from slmtok.errors import MalformedRecord, Setting, SlmtokError
from slmtok.files import read_file
from slmtok.sizes import counted

if TYPE_CHECKING:
    from slmtok.corpus.selection import Skipped
    from slmtok.options import ReadOptions

_MAX_VALUE_CHARS = (1 << 31) - 1
_MAX_ROWS = 100
"""Rows at the beginning of a table with other marks, in which the column of the text is looked for."""


def read_csv(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every row. Raises `MalformedRecord`, for single rows unless skipping, `Unreadable`."""
    csv.field_size_limit(_MAX_VALUE_CHARS)
    header: Header | None = None
    is_any_read = False
    with open_bytes(path, options.encoding) as stream:
        # Surrogate escapes carry bytes that are not UTF-8.
        text_stream = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        lines = _RowLines(text_stream, options.max_doc_bytes, path)
        rows = csv.reader(lines, strict=True)
        while True:
            try:
                lines.begin_row()
                first_line = lines.number + 1
                row = [value.encode("utf-8", "surrogateescape") for value in next(rows)]
                if row and header is None:
                    header = _header(row, options, path, first_line, rows)
                    row = row if header.is_record else []
                if not row or header is None:
                    continue
                text = header.text_of(row)
            except StopIteration:
                return
            except csv.Error as error:
                malformed = _not_csv(error, lines.number - first_line, is_at_end=lines.is_at_end)
            except MalformedRecord as error:
                if header is None:
                    raise
                malformed = error
            else:
                is_any_read = True
                yield text
                continue
            if not options.skip_malformed:
                if by_mark := _fix_of_mark(path, options):
                    malformed.limit, malformed.fix = by_mark
                elif header is not None and not is_any_read:
                    by_rows = fix_of_rows(path, header.width, header.columns, options.encoding)
                    malformed.fix = by_rows or malformed.parts["fix"]
                raise located(malformed, path, line=first_line)
            skipped.records += 1


def _not_csv(error: csv.Error, more_lines: int, *, is_at_end: bool) -> MalformedRecord:
    """The error for a row with a fault in its quotes. more_lines: those of the row behind its first."""
    if not is_at_end:
        return MalformedRecord(f"the row is not CSV: {error}", fix=("repair the row, or ", *SKIP))
    lost = f" leaves out the {counted(more_lines, 'line')} behind it as well" if more_lines else " leaves the row out"
    return MalformedRecord(
        "the row has a quote that is not closed until the end of the file",
        limit="a quote in quotes is doubled",
        fix=("close the quote; ", Setting("skip_malformed", True), lost),
    )


class _RowLines:
    """Lines for a reader that joins the lines of a row. number: of lines so far.

    Refuses a row of too many characters or columns before the reader makes values of it.
    """

    def __init__(self, stream: io.TextIOWrapper, limit: int, path: str) -> None:
        self._stream, self._limit, self._path = stream, limit, path
        self.number = 0
        self.is_at_end = False
        self.begin_row()

    def begin_row(self) -> None:
        self._size, self._is_quoted = 0, False

    def __iter__(self) -> _RowLines:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(self._limit + 1 - self._size)
        if not line:
            self.is_at_end = True
            raise StopIteration
        self.number += 1
        self._size += len(line)
        if self._size > self._limit:
            raise document_too_large(f"{self._path}, line {self.number:,}", self._limit)
        if line.count(",") >= MAX_COLUMNS:
            columns = sum(part.count(",") for part in line.split('"')[self._is_quoted :: 2]) + 1
            refuse_many_columns(columns, f"{self._path}, line {self.number:,}")
        self._is_quoted ^= line.count('"') % 2 == 1
        return line


_HEAD_BYTES = 1 << 16
"""Of a table, in which quotes are looked for."""


def _has_quotes(path: str) -> bool:
    """Whether values are quoted, which tables of format tsv do not know."""
    return os.path.isfile(path) and b'"' in read_file(path, _HEAD_BYTES)  # noqa: PTH113


_MARK_LINE = re.compile(rb"sep=(.)")
"""The first line of a table for Excel, which names the separator."""


def _following(rows: Iterable[list[str]]) -> Iterator[list[bytes]]:
    """The rows behind the first, as far as they can be read."""
    with suppress(csv.Error, SlmtokError):
        yield from ([value.encode("utf-8", "surrogateescape") for value in row] for row in rows)


def _header(row: list[bytes], options: ReadOptions, path: str, line: int, rows: Iterator[list[str]]) -> Header:
    """The header in the first row. Raises `MalformedRecord`, whose fix is about the separator where it is no comma."""
    template = template_of(options)
    if mark_line := _MARK_LINE.fullmatch(b",".join(row)):
        output = name_of_rewritten(path, "comma")
        mark = mark_line[1].decode("latin-1")
        command = rewritten(path, {"delimiter": mark}, output, options.encoding, lines_before=1)
        lines = [b",".join(row) for row in islice(_following(rows), _MAX_ROWS)]
        raise MalformedRecord(
            f"the first line, {mark_line[0].decode('latin-1')}, names the separator, and no column",
            where=f"{path}, line {line:,}",
            fix=(*command, *key_of(lines, mark, template)),
        )
    following, behind, others_behind = tee(_following(rows), 3)
    try:
        return Header.of(row, template, f"{path}, line {line:,}", following)
    except MalformedRecord as error:
        text = b",".join(row)
        if (fix := format_of_name(path, options)) and (len(row) == 1 or bare_suffix(path) == ".tsv"):
            error.limit, error.fix = None, fix
            if b"\t" in text:
                others = [b",".join(row).split(b"\t") for row in islice(behind, _MAX_ROWS)]
                # Its options beside the format, which the name says.
                key = _as_tsv([text.split(b"\t"), *others], template)[2:]
                error.fix = (
                    *fix,
                    *(("; besides, no column is named ", repr(template.fields[0]), ": ", *key) if key else ()),
                )
        elif by_mark := _fix_of_mark(path, options):
            error.limit, error.fix = by_mark
        elif b"\t" in text and not _has_quotes(path):
            others = [b",".join(row).split(b"\t") for row in islice(behind, _MAX_ROWS)]
            error.limit, error.fix = _separated_by("\t"), _as_tsv([text.split(b"\t"), *others], template)
        elif mark := _other_mark(text, islice(others_behind, _MAX_ROWS), len(row)):
            output = name_of_rewritten(path, "comma")
            command = rewritten(path, {"delimiter": mark}, output, options.encoding)
            lines = [text, *(b",".join(row) for row in islice(behind, _MAX_ROWS))]
            error.limit = _separated_by(mark)
            error.fix = (*command, *key_of(lines, mark, template))
        elif fix:
            table = error.parts["fix"]
            error.fix = (*fix, "; for a table, ", *([table] if isinstance(table, str) else table or ()))
        raise


def _separated_by(mark: str) -> str:
    named = "tabs" if mark == "\t" else repr(mark)
    return f"columns are separated by ',', and these by {named}"


def _fix_of_mark(path: str, options: ReadOptions) -> tuple[str, tuple[str | Setting, ...]] | None:
    """The limit and what to do for a table of quoted values between other marks, or of lines with as many tabs each.

    None for other tables.
    """
    lines = first_lines(path, options.encoding)
    template = template_of(options)
    if mark := quoted_mark(lines):
        command = rewritten(path, {"delimiter": mark}, name_of_rewritten(path, "comma"), options.encoding)
        return _separated_by(mark), (*command, *key_of([line.encode() for line in lines], mark, template))
    if rows := rows_by_tabs(lines):
        return _separated_by("\t"), _as_tsv([[value.encode() for value in row] for row in rows], template)
    return None


def _as_tsv(rows: Sequence[Sequence[bytes]], template: Template) -> tuple[str | Setting, ...]:
    """The options for a table with tabs: the format, and the longest column where the first row has not the field."""
    first = rows[0]
    if template.fields[0].encode() in first or template.numbered or template.source is not None:
        return (Setting("format", "tsv"),)
    at = longest_column([row for row in rows[1:] if len(row) == len(first)] or [first])
    return Setting("format", "tsv"), " ", Setting("text_key", str(at + 1))


def _other_mark(first: bytes, rows: Iterable[Sequence[bytes]], width: int) -> str | None:
    """The mark between the columns of a table, where it is no comma; None for a comma.

    A row of one column has any such mark; others have it in each row, because their texts have commas.
    """
    if width == 1:
        return next((each for each in "\t;|" if each.encode() in first), None)
    return common_mark([b",".join(row).decode("latin-1") for row in ([first], *rows)], "|;")
