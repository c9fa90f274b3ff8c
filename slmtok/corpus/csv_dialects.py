"""Tables that are almost CSV: other separators, other quotes, values with commas; and the command that makes them CSV.

Only the first rows are looked at, and only for an error.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import UTF_8, compression, open_bytes
from slmtok.errors import Message
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


def rewritten(
    path: str, dialect: Mapping[str, Any], output: str, encoding: str = UTF_8, *, lines_before: int = 0
) -> str:
    """What to do with a table of another dialect: the command that writes it as CSV. lines_before: those left out."""
    arguments = "".join(f",{name}={value!r}" for name, value in dialect.items())
    return _written(path, f"csv.reader(sys.stdin{arguments})", output, encoding, "next(sys.stdin); " * lines_before)


def _written(path: str, rows: str, output: str, encoding: str, before: str = "") -> str:
    """What to do with a table: the command that writes these rows of it.

    Latin-1 keeps all bytes. The encoding of the locale, which may be UTF-8, ends the program at others.
    """
    program = f"import csv,sys; {before}csv.writer(sys.stdout).writerows({rows})"
    quoted = shlex.quote(program) if {*program} & {*'"\\$`'} else f'"{program}"'
    environment = f"PYTHONIOENCODING={'latin-1' if encoding == UTF_8 else encoding}"
    command = f"{environment} python -c {quoted}"
    if path == STDIN:
        return f"pipe it through {command}"
    return f"{command} < {shlex.quote(path)} > {shlex.quote(output)}, and name it"


def fix_of_rows(path: str, width: int, columns: Sequence[int], encoding: str) -> Message | None:
    """What to do about a table of which none of the first rows has the `width` of the header; None for other tables.

    To skip such rows would leave nothing. columns: those of the text.
    """
    if not Path(path).is_file():
        return None
    with open_bytes(path, encoding) as stream:
        head = stream.read(_HEAD_BYTES)
    text = head.decode("utf-8-sig", "replace")
    lines = text.splitlines(keepends=True)[: -1 if len(head) == _HEAD_BYTES else None][: _MAX_ROWS + 1]
    if len(lines) <= _MIN_ROWS or any(_are_of_width([line], width, {"strict": True}) for line in lines[1:]):
        return None
    output = free_name(f"{path.removesuffix('.csv')}-quoted.csv")
    is_plain = compression(path) == "plain"
    dialect = next((each for each in _DIALECTS if _are_of_width(lines, width, each)), None)
    if is_plain and dialect is not None:
        return rewritten(path, dialect, output, encoding)
    if is_plain and width - 1 in columns and '"' not in text and all(line.count(",") >= width - 1 for line in lines):
        # The values before the last one have no commas where it is the text.
        rows = f"line.rstrip(chr(10)).split(',',{width - 1}) for line in sys.stdin"
        return f"{_written(path, rows, output, encoding)}: column {width} is the rest of each line"
    number = f"{len(lines) - 1:,}"
    return f"repair the file: of its first {number} rows none has {width} columns; values with commas need quotes"


def _are_of_width(lines: Sequence[str], width: int, dialect: Mapping[str, Any]) -> bool:
    """Whether each line is a row of `width` columns."""
    try:
        rows = [row for row in islice(csv.reader(lines, **dialect), _MAX_ROWS + 1) if row]
    except csv.Error:
        return False
    return bool(rows) and all(len(row) == width and "\n" not in "".join(row) for row in rows)
