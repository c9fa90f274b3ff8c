"""Format `tsv`: a record a line, its columns between tabs, nothing quoted; one column or several make the document.

When to pick it: sentence tables, verses with their names, exports of data bases. Price: none. Promise: where the
columns are asked for by number (`{1}`, `{2}`), every line is a record; where by name, the first line has the names. A
line whose columns are not as many as those of the first is an error that names file and line, or is counted where
skipping was asked for. A line feed or CR LF ends a line; empty lines are no records. Bytes are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from slmtok.errors import MalformedRecord

if TYPE_CHECKING:
    from slmtok.corpus.options import ReadOptions
    from slmtok.corpus.selection import Skipped
    from slmtok.corpus.template import Template


def read(stream: BinaryIO, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every record. Raises `MalformedRecord`; for lines of another width, unless skipping."""
    rows = _rows(stream)
    first = next(rows, None)
    if first is None:
        return
    number, names = first
    template = options.template
    columns = _columns(names, template, f"{source}, line {number:,}")
    for number, row in chain([first], rows) if template.numbered else rows:
        if len(row) == len(names):
            yield template.fill([row[column] for column in columns])
            continue
        if not options.skip_malformed:
            raise MalformedRecord(
                f"line has {_counted(len(row))}, the first one {len(names)}",
                where=f"{source}, line {number:,}",
                fix="repair the line, or skip_malformed=True to leave such records out",
                path=source,
                line=number,
            )
        skipped.records += 1


def _rows(stream: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
    """(number of the line from 1, its columns), empty lines left out."""
    for number, line in enumerate(stream, 1):
        line = line[:-1] if line.endswith(b"\n") else line
        line = line[:-1] if line.endswith(b"\r") else line
        if line:
            yield number, line.split(b"\t")


def _columns(names: list[bytes], template: Template, where: str) -> list[int]:
    """The index of each field of the template. Raises `MalformedRecord` for what the first line does not have."""
    if template.numbered:
        wanted = [int(name) for name in template.fields]
        if max(wanted) > len(names):
            raise MalformedRecord(
                f"there is no column {max(wanted)}: the line has {_counted(len(names))}",
                where=where,
                fix=f"text_key='{len(names)}'",
            )
        return [number - 1 for number in wanted]
    known = {name.decode("utf-8", "replace"): index for index, name in enumerate(names)}
    for name in template.fields:
        if name not in known:
            shown = ", ".join(text if len(text) <= 24 else text[:23] + "…" for text in known)
            raise MalformedRecord(
                f"the first line names no column {name!r} (it has: {shown})",
                where=where,
                fix=f"text_key='NAME'; without a header line text_key='{len(names)}', or text_template='{{1}} {{2}}'",
            )
    return [known[name] for name in template.fields]


def _counted(columns: int) -> str:
    return "1 column" if columns == 1 else f"{columns} columns"
