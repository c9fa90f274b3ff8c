"""Tables that are almost CSV: other separators, other quotes, values with commas; and the command that makes them CSV.

Only the first rows are looked at, and only for an error.
"""

from __future__ import annotations

import codecs
import csv
import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from slmtok.corpus.encodings import utf8_evidence
from slmtok.corpus.likely_encodings import likely_encodings
from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import UTF_8, beginning_of, compression, open_head
from slmtok.corpus.text_commands import Source, through
from slmtok.errors import Message, Setting
from slmtok.file_content import is_utf_8
from slmtok.files import free_name

_HEAD_BYTES = 1 << 16
_MAX_ROWS = 100
_MIN_ROWS = 2
"""Rows from which on the number of columns says something."""
_DIALECTS: tuple[dict[str, Any], ...] = (
    {},
    {"skipinitialspace": True},
    {"quotechar": "'"},
    {"quotechar": "'", "skipinitialspace": True},
    {"escapechar": "\\"},
)
"""How programs write tables besides RFC 4180. The first takes characters behind a quote, such as a space."""


def common_mark(rows: Sequence[str], marks: str) -> str | None:
    """The first of some marks that stands in every row, equally often in each; None where none does."""
    if len(rows) < _MIN_ROWS:
        return None
    found = (mark for mark in marks if mark in rows[0] and len({row.count(mark) for row in rows}) == 1)
    return next(found, None)


def first_lines(path: str, encoding: str) -> list[str]:
    """The lines at the beginning of a file, with their ends, without one that may be cut."""
    head = beginning_of(path, encoding, _HEAD_BYTES)
    lines = head.decode("utf-8-sig", "replace").splitlines(keepends=True)
    return lines[: -1 if len(head) == _HEAD_BYTES else None][: _MAX_ROWS + 1]


def rows_by_tabs(lines: Sequence[str]) -> list[list[str]] | None:
    """The rows of lines with as many tabs each, of which no first column has a comma; None for other lines."""
    rows = [line.rstrip("\r\n").split("\t") for line in lines if line.strip("\r\n")]
    is_even = len(rows) >= _MIN_ROWS and {*map(len, rows)} == {len(rows[0])} != {1}
    return rows if is_even and not any("," in row[0] for row in rows) else None


def quoted_mark(lines: Sequence[str]) -> str | None:
    """The mark between columns of which some are quoted as in CSV, where it is no comma; None for other tables.

    Texts between tabs that are not quoted may begin and end with a quote too; most of them have others within.
    """
    return next((mark for mark in "\t;|" if _are_quoted_by(lines, mark)), None)


def _are_quoted_by(lines: Sequence[str], mark: str) -> bool:
    """Whether lines, of which the last row may be cut, are rows of equal width with quoted values between marks."""
    reader, rows = csv.reader(lines, delimiter=mark, strict=True), list[list[str]]()
    try:
        for row in reader:
            rows.append(row)
    except csv.Error:
        if reader.line_num < len(lines):
            return False
    widths = {len(row) for row in rows if row}
    if len(rows) < _MIN_ROWS or len(widths) != 1 or widths == {1}:
        return False
    return rows != list(islice(csv.reader(lines, delimiter=mark, quoting=csv.QUOTE_NONE), len(rows)))


def name_of_rewritten(path: str, change: str) -> str:
    """A free name for a table that is written again as plain CSV."""
    bare = path if compression(path) == "plain" else path.removesuffix(Path(path).suffix)
    return free_name(f"{bare.removesuffix('.csv')}-{change}.csv")


def rewritten(
    path: str, dialect: Mapping[str, Any], output: str, encoding: str = UTF_8, *, lines_before: int = 0
) -> tuple[str | Setting, ...]:
    """What to do with a table of another dialect: the command that writes it as CSV. lines_before: those left out."""
    arguments = "".join(f",{name}={value!r}" for name, value in dialect.items())
    before = "csv.field_size_limit(2**31-1); " + "next(sys.stdin); " * lines_before
    return _written(path, f"csv.reader(sys.stdin{arguments})", output, encoding, before)


def _written(path: str, rows: str, output: str, encoding: str, before: str = "") -> tuple[str | Setting, ...]:
    """What to do with a table: the command that writes these rows of it.

    Latin-1 keeps all bytes, and reads a byte order mark as three characters, behind which a quote would be text. The
    encoding of the locale, which may be UTF-8, ends the program at others.
    """
    if encoding == UTF_8 and beginning_of(path, UTF_8, len(codecs.BOM_UTF8)) == codecs.BOM_UTF8:
        before = f"sys.stdin.read({len(codecs.BOM_UTF8)}); {before}"
    program = f"import csv,sys; {before}csv.writer(sys.stdout).writerows({rows})"
    quoted = shlex.quote(program) if {*program} & {*'"\\$`'} else f'"{program}"'
    environment = f"PYTHONIOENCODING={'latin-1' if encoding == UTF_8 else encoding}"
    command = f"{environment} python -c {quoted}"
    if path == STDIN:
        return (f"pipe it through {command}",)
    return f"{through(command, Source(path), shlex.quote(output))} # and name it", *_with_encoding(path, encoding)


def _with_encoding(path: str, encoding: str) -> tuple[str | Setting, ...]:
    """The end of a remedy for a file whose bytes are kept and are not UTF-8: the encodings in which it is likely."""
    head = open_head(path, _HEAD_BYTES) if encoding == UTF_8 and Path(path).is_file() else b""
    if is_utf_8(head) or utf8_evidence(head).is_mixed:
        return ()
    likely = [part for name in likely_encodings(head) for part in (" or ", Setting("encoding", name))][1:]
    return (", with ", *likely, ", in which it reads as words") if likely else ()


def fix_of_rows(path: str, width: int, columns: Sequence[int], encoding: str) -> Message | None:
    """What to do about a table of which none of the first rows has the `width` of the header; None for other tables.

    To skip such rows would leave nothing. columns: those of the text.
    """
    if not Path(path).is_file():
        return None
    lines = first_lines(path, encoding)
    text = "".join(lines)
    if len(lines) <= _MIN_ROWS or any(_are_of_width([line], width, {"strict": True}) for line in lines[1:]):
        return None
    output = name_of_rewritten(path, "quoted")
    dialect = next((each for each in _DIALECTS if _are_of_width(lines, width, each)), None)
    if dialect is not None:
        return rewritten(path, dialect, output, encoding)
    if width - 1 in columns and '"' not in text and all(line.count(",") >= width - 1 for line in lines):
        # The values before the last one have no commas where it is the text.
        rows = f"line.rstrip(chr(10)).split(',',{width - 1}) for line in sys.stdin"
        return *_written(path, rows, output, encoding), f": column {width} is the rest of each line"
    number = f"{len(lines) - 1:,}"
    return f"repair the file: of its first {number} rows none has {width} columns; values with commas need quotes"


def _are_of_width(lines: Sequence[str], width: int, dialect: Mapping[str, Any]) -> bool:
    """Whether each line is a row of `width` columns."""
    try:
        rows = [row for row in islice(csv.reader(lines, **dialect), _MAX_ROWS + 1) if row]
    except csv.Error:
        return False
    return bool(rows) and all(len(row) == width and "\n" not in "".join(row) for row in rows)
