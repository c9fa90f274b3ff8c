"""The first row of a table, which says how many columns there are and which of them make the text: tsv and csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from slmtok.corpus.template import LIKELY_FIELDS, SKIP, Template, repeated_column
from slmtok.errors import DocumentTooLarge, MalformedRecord, Message, Setting, suggestion

MAX_COLUMNS = 100_000
"""Of a row: each takes some hundred bytes while the row is read."""
_MAX_SHOWN = 24
"""Characters of a value of a table in a message."""
_MAX_NAME_CHARS = 40
_MAX_ROWS = 100
"""Rows at the beginning of a table by which the column of its text is known."""


def refuse_many_columns(columns: int, where: str) -> None:
    """Raises `DocumentTooLarge` for a row with more columns than a table has."""
    if columns > MAX_COLUMNS:
        raise DocumentTooLarge(
            f"the row has {columns:,} columns",
            where=where,
            limit=f"{MAX_COLUMNS:,} columns",
            fix=("if the file is no table, ", Setting("format", "text"), " reads it as it is"),
        )


@dataclass(frozen=True)
class Header:
    """width: number of columns. columns: the index of each field of the template. is_record: it names no columns."""

    template: Template
    width: int
    columns: tuple[int, ...]

    @classmethod
    def of(cls, names: Sequence[bytes], template: Template, where: str, rows: Iterable[Sequence[bytes]] = ()) -> Header:
        """The header with these names. Raises `MalformedRecord` for a field of the template that is not there once.

        rows: those behind the header, by which the error proposes a column.
        """
        if template.numbered:
            columns = [int(name) - 1 for name in template.fields]
            if max(columns) >= len(names):
                raise MalformedRecord(
                    f"there is no column {max(columns) + 1}: the row has {_count(len(names))}",
                    where=where,
                    fix=(Setting("text_key", f"{len(names)}"),),
                )
            return cls(template, len(names), tuple(columns))
        read = [name.decode("utf-8", "replace") for name in names]
        _refuse_column_zero(read, template, where)
        known = {name: index for index, name in enumerate(read)}
        for name in template.fields:
            if read.count(name) > 1:
                raise repeated_column(name, read.count(name), where)
            if name not in known:
                raise _missing_column(name, read, template, where, rows)
        return cls(template, len(names), tuple(known[name] for name in template.fields))

    @property
    def is_record(self) -> bool:
        """Whether the first row is a record like all others: columns are named by number."""
        return self.template.numbered

    def text_of(self, row: Sequence[bytes]) -> bytes:
        """The text of a row. Raises `MalformedRecord` for one of another width."""
        if len(row) != self.width:
            fact = f"the row has {_count(len(row))}, the first one {self.width}"
            raise MalformedRecord(fact, fix=("repair the row, or ", *SKIP))
        return self.template.fill([row[column] for column in self.columns])


def _missing_column(
    name: str, names: Sequence[str], template: Template, where: str, rows: Iterable[Sequence[bytes]]
) -> MalformedRecord:
    """The error for a table whose first row, `names`, lacks a field of the template."""
    shown = ", ".join(map(short, names))
    fact = f"the first row names no column {name!r} (it has: {shown})"
    if several := template.of_listed(names):
        return MalformedRecord(fact, where=where, limit=(Setting("text_key"), " is one field"), fix=several)
    likely = next((each for each in LIKELY_FIELDS if each in names and each not in template.fields), None)
    meant = suggestion(name, names) or likely
    behind = [row for row in islice(rows, _MAX_ROWS) if row]
    following = [row for row in behind if len(row) == len(names)]
    if not meant and template.source is None and _is_prose(names, behind):
        widths = sorted({len(names), *map(len, behind)})
        return MalformedRecord(
            fact,
            where=where,
            limit=f"a table has as many columns in each row, and these rows have {widths[0]} to {widths[-1]}",
            fix=(
                Setting("format", "text"),
                ", if it is plain text; in a table, repair rows of another width; in .csv, quote values with commas",
            ),
        )
    at = names.index(meant) if meant else longest_column(following or [names])
    number = Setting("text_key", str(at + 1))
    plain = ("; for plain text, ", Setting("format", "text")) if len(names) == 1 else ()
    by_number = ("; where the first row is text too, its number: ", number, *plain)
    longest = None
    if following and not meant and all(_is_number(cell) for row in following for cell in row):
        fix: Message = (
            "name another file, or leave it out with ",
            Setting("exclude", Path(where.rpartition(", line ")[0]).name),
        )
        return MalformedRecord(fact, where=where, limit="text, and its columns hold numbers", fix=fix)
    is_text = bool(following) and not meant and not are_names(names)
    if template.source is not None:
        fix, is_one = _fix_of_template(template, names, at, is_text=is_text)
        longest = f"column {at + 1} has the longest values" if is_text and is_one else None
    elif not meant and (prompts := template.of_prompts(names)):
        fix = (*prompts, *by_number)
    elif is_text:
        fix, longest = (number, *plain), f"column {at + 1} has the longest values"
    elif following or meant:
        fix = (Setting("text_key", names[at]), *by_number)
        longest = None if meant else f"{names[at]!r} has the longest values"
    else:
        fix = (Setting("text_key", "NAME"), ", the one of these that holds the text; or its number, as in ", number)
    return MalformedRecord(fact, where=where, limit=longest, fix=fix, meant=meant if template.source is None else None)


def _fix_of_template(
    template: Template, names: Sequence[str], at: int, *, is_text: bool
) -> tuple[tuple[str | Setting, ...], bool]:
    """The template that reads a table whose first row, `names`, lacks a field; and whether one column makes the text.

    at: the column that is likely the text. is_text: whether the first row is text, as all others.
    """
    fields = [*dict.fromkeys(template.fields)]
    columns = [at + 1] if len(fields) == 1 else range(1, len(fields) + 1)
    by_number = template.with_fields({field: str(column) for field, column in zip(fields, columns, strict=True)})
    # A row with the name of a field is no text.
    is_numbered = len(fields) <= len(names) and not {*fields} & {*names}
    other = "" if len(fields) == 1 else ", or with the numbers of other columns"
    if is_text and is_numbered:
        return (by_number, other), len(fields) == 1
    meant = template.meant_fields(names, names, is_only_one_meant=False)
    one = ", the one of these that holds the text" if "NAME" in meant.values() else ""
    numbered = ("; where the first row is text too, by number: ", by_number, other) if is_numbered else ()
    return (template.with_fields(meant), one, *numbered), False


def key_of(lines: Iterable[bytes], mark: str, template: Template) -> tuple[str | Setting, ...]:
    """The end of a fix that names the column of the text, where columns have `mark` between them; else ().

    lines: the first one names the columns.
    """
    rows: list[list[bytes]] = []
    with suppress(csv.Error):
        for row in csv.reader((line.decode("utf-8", "surrogateescape") for line in lines), delimiter=mark):
            rows.append([value.encode("utf-8", "surrogateescape") for value in row])
    try:
        Header.of(rows[0] if rows else [], template, "", rows[1:])
    except MalformedRecord as error:
        first = error.parts["fix"][0] if error.parts["fix"] else None
        return (", with ", first) if isinstance(first, Setting) and first.name == "text_key" else ()
    return ()


def _is_prose(first: Sequence[str], behind: Sequence[Sequence[bytes]]) -> bool:
    """Whether rows are lines of prose, which commas divide: most have another width than the first, which is no header.

    A line without a comma is no header where others have some.
    """
    others = sum(len(row) != len(first) for row in behind)
    return others > 0 if len(first) == 1 else 2 * others > len(behind) and not are_names(first)


def are_names(row: Sequence[str]) -> bool:
    """Whether the first row of a table may name its columns: different, short values, of which none is a number.

    The first may be empty among others: programs write the index of a table without a name.
    """
    names = row if row[0] else row[1:]
    is_each_name = all(0 < len(name) <= _MAX_NAME_CHARS and not name.isdecimal() for name in names)
    return len(names) > 0 and len({*names}) == len(names) and is_each_name


def longest_column(rows: Iterable[Sequence[Sized]]) -> int:
    """The index of the column with the longest values in rows of equal width."""
    columns = [*zip(*rows, strict=True)]
    return max(range(len(columns)), key=lambda at: sum(map(len, columns[at])))


def _is_number(cell: bytes) -> bool:
    try:
        return not cell.strip() or float(cell) is not None
    except ValueError:
        return False


_NUMBER = re.compile(r"(?<!\{)\{(\d+)(?=[|}])", re.ASCII)
"""A number at the beginning of a field of a template."""


def _refuse_column_zero(row: Sequence[str], template: Template, where: str) -> None:
    """Raises `MalformedRecord` for columns by numbers from 0, unless the first row names all of its columns so."""
    if "0" not in template.fields or not all(map(str.isdecimal, template.fields)):
        return
    if "0" in row and all(map(str.isdecimal, row)):
        return
    text = template.source
    meant = str(int(template.fields[0]) + 1) if text is None else _NUMBER.sub(lambda n: f"{{{int(n[1]) + 1}", text)
    raise MalformedRecord(
        "column 0 is not there: columns count from 1",
        where=where,
        limit=f"columns by number: {', '.join(f'{number} ({short(cell)})' for number, cell in enumerate(row, 1))}",
        fix=(Setting("text_key" if text is None else "text_template", meant), ", or the number of another one"),
    )


def short(cell: str) -> str:
    """The beginning of a value of a table, and '' for an empty one."""
    if not cell:
        return "''"
    return cell if len(cell) <= _MAX_SHOWN else cell[: _MAX_SHOWN - 1] + "…"


def _count(columns: int) -> str:
    return "1 column" if columns == 1 else f"{columns} columns"
