"""Format `tsv`: a record a line, columns between tabs, no quoting; one column or several make the document.

When to use it: sentence tables, verses with their names, exports of databases. Cost: none. Guarantee: with columns by
number (`{1}`, `{2}`), every line is a record; with columns by name, the first line names them. A line whose number of
columns differs from the first line's is an error that names file and line, or is counted where skipping was requested.
A line feed or CR LF ends a line; empty lines are ignored. Bytes are kept as they are.
"""

from __future__ import annotations

import csv
import shlex
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from slmtok.corpus.csv_dialects import rewritten
from slmtok.corpus.streams import open_bytes
from slmtok.corpus.suffixes import format_of_name
from slmtok.corpus.tables import Header, are_names, longest_column, refuse_many_columns
from slmtok.corpus.template import LineParser, located, template_of
from slmtok.corpus.text_commands import Source, remedy_through
from slmtok.corpus.text_kinds import CONLL_U, remedy_of
from slmtok.errors import MalformedRecord, Setting
from slmtok.files import free_name

if TYPE_CHECKING:
    from slmtok.options import ReadOptions

_MAX_COMMENTS = 1000
_MAX_ROWS = 100
"""Rows of a table without tabs in which another mark is looked for."""
_CONLLU_COLUMNS = 10


class _Parser:
    """Parses the lines of one source. Threads share it, so the header of a file is read first."""

    def __init__(self, source: str, options: ReadOptions) -> None:
        self._source, self._options = source, options
        self._header: tuple[int, Header] | None = None
        if Path(source).is_file():
            with open_bytes(source, options.encoding) as stream:
                self._header = self._find_header(enumerate(stream, 1))

    def __call__(self, line: bytes, number: int) -> bytes | Literal[False] | None:
        """The document in a line; see `LineParser`. Raises `MalformedRecord` unless skipping."""
        row = self._columns(line, number)
        found = self._header or self._find_header([(number, line)])
        if row is None or found is None:
            return False
        # A stream is read by one thread, from its first line on.
        self._header = found
        header_line, header = found
        if number == header_line and not header.is_record:
            return False
        try:
            return header.text_of(row)
        except MalformedRecord as error:
            if self._options.skip_malformed:
                return None
            raise located(error, self._source, line=number) from None

    def _find_header(self, lines: Iterable[tuple[int, bytes]]) -> tuple[int, Header] | None:
        """The number and the content of the first line that is not empty. Raises as `Header.of`."""
        for number, line in lines:
            names = self._columns(line, number)
            if names is not None:
                where = f"{self._source}, line {number:,}"
                following, behind = tee(lines)
                self._refuse_comments(names, following, where)
                return number, self._header_of(names, where, behind)
        return None

    def _header_of(self, names: list[bytes], where: str, lines: Iterable[tuple[int, bytes]]) -> Header:
        lines, behind = tee(lines)
        rows = (row for number, line in lines if (row := self._columns(line, number)) is not None)
        try:
            return Header.of(names, template_of(self._options), where, rows)
        except MalformedRecord as error:
            if len(names) == 1 and (fix := format_of_name(self._source, self._options)):
                error.fix = fix
            elif len(names) == 1 and self._options.text_template is None:
                self._explain_mark(error, names[0], [line for _, line in islice(behind, _MAX_ROWS)])
            raise

    def _explain_mark(self, error: MalformedRecord, first: bytes, following: Sequence[bytes]) -> None:
        """Changes the fix for a table without tabs whose rows another mark divides into equally many columns."""
        texts = [line.decode("utf-8", "replace").rstrip("\r\n") for line in (first, *following)]
        read = {mark: [*csv.reader(filter(None, texts), delimiter=mark)] for mark in ",;|"}
        for mark, rows in read.items():
            if len(rows) < 2 or len(rows[0]) < 2 or len({*map(len, rows)}) > 1:
                continue
            error.limit = f"columns are separated by tabs, and these by {mark!r}"
            key: tuple[str | Setting, ...] = ()
            if self._options.text_key not in rows[0] and not template_of(self._options).numbered:
                at = longest_column(rows[1:])
                key = (" ", Setting("text_key", rows[0][at] if are_names(rows[0]) else f"{at + 1}"))
            if mark == ",":
                error.fix = (Setting("format", "csv"), *key)
            else:
                output = free_name(f"{Path(self._source).stem}.csv")
                error.fix = rewritten(self._source, {"delimiter": mark}, output, self._options.encoding)
            return

    def _refuse_comments(self, first: list[bytes], lines: Iterable[tuple[int, bytes]], where: str) -> None:
        """Raises `MalformedRecord` for lines that begin with # before the rows of a file, which have more columns."""
        comments = [first]
        for number, line in islice(lines, _MAX_COMMENTS):
            if len(comments[-1]) > 1 or not comments[-1][0].startswith(b"#"):
                break
            comments += filter(None, [self._columns(line, number)])
        row = comments.pop()
        if not comments or len(row) == 1:
            return
        is_conllu = len(row) == _CONLLU_COLUMNS and row[0].isdigit()
        source, target = Source(self._source, self._options.encoding), free_name(f"{Path(self._source).stem}-rows.tsv")
        fix = remedy_through("grep -v '^#'", source, shlex.quote(target))
        if is_conllu and any(comment[0].startswith(b"# text = ") for comment in comments):
            fix = remedy_of(CONLL_U, [self._source], [], source.encoding)
        raise MalformedRecord(
            f"lines that begin with # are before the rows{', as in CoNLL-U' if is_conllu else ''}",
            where=where,
            limit="rows of equal width from the first line on; a # is text",
            fix=fix,
        )

    def _columns(self, line: bytes, number: int) -> list[bytes] | None:
        """The columns of line `number`, without a byte order mark in the first; None for an empty line."""
        line = line.removeprefix(BOM_UTF8) if number == 1 else line
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        refuse_many_columns(line.count(b"\t") + 1, f"{self._source}, line {number:,}")
        return line.split(b"\t") if line else None


def parser(source: str, options: ReadOptions) -> LineParser:
    """The parser for the lines of `source`."""
    return _Parser(source, options)
