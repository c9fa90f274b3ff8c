"""Format `csv`: rows of values between commas, quoted as in RFC 4180; one column or several make the document.

When to use it: tables as spreadsheets export them; quoted values may hold commas and line ends. Cost: about 10 s a
gigabyte, in Python. Guarantee: with columns by number (`{1}`, `{2}`), every row is a record; with columns by name, the
first row names them. A row whose number of columns differs from the first row's is an error that names file and line,
or is counted where skipping was requested. Empty lines are ignored. Bytes are kept as they are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from slmtok.corpus.streams import open_bytes
from slmtok.corpus.tables import Header
from slmtok.corpus.template import SKIP, located, template_of
from slmtok.errors import MalformedRecord

if TYPE_CHECKING:
    from slmtok.corpus.selection import Skipped
    from slmtok.options import ReadOptions

_MAX_VALUE_CHARS = (1 << 31) - 1


def read_csv(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every row. Raises `MalformedRecord`, for single rows unless skipping, `Unreadable`."""
    csv.field_size_limit(_MAX_VALUE_CHARS)
    header: Header | None = None
    with open_bytes(path, options.encoding) as stream:
        # Surrogate escapes carry bytes that are not UTF-8.
        rows = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline=""), strict=True)
        while True:
            try:
                row = [value.encode("utf-8", "surrogateescape") for value in next(rows)]
                if row and header is None:
                    header = Header.of(row, template_of(options), f"{path}, line {rows.line_num:,}")
                    row = row if header.is_record else []
                if not row or header is None:
                    continue
                text = header.text_of(row)
            except StopIteration:
                return
            except csv.Error as error:
                malformed = MalformedRecord(f"the row is not CSV: {error}", fix=("repair the row, or ", *SKIP))
            except MalformedRecord as error:
                if header is None:
                    raise
                malformed = error
            else:
                yield text
                continue
            if not options.skip_malformed:
                raise located(malformed, path, line=rows.line_num)
            skipped.records += 1
