"""Format `tsv`: a record a line, columns between tabs, no quoting; one column or several make the document.

When to use it: sentence tables, verses with their names, exports of databases. Cost: none. Guarantee: with columns by
number (`{1}`, `{2}`), every line is a record; with columns by name, the first line names them. A line whose number of
columns differs from the first line's is an error that names file and line, or is counted where skipping was requested.
A line feed or CR LF ends a line; empty lines are ignored. Bytes are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from slmtok.corpus.streams import open_bytes
from slmtok.corpus.template import SKIP, LineParser, located, template_of
from slmtok.errors import MalformedRecord, Setting

if TYPE_CHECKING:
    from slmtok.corpus.template import Template
    from slmtok.options import ReadOptions


@dataclass(frozen=True)
class _Header:
    """Number of the first line, how many columns it has, and the index of each field of the template."""

    number: int
    width: int
    columns: list[int]


class _Parser:
    """Parses the lines of one source. Threads share it, so the header of a file is read first."""

    def __init__(self, source: str, options: ReadOptions) -> None:
        self._source, self._options = source, options
        self._header: _Header | None = None
        if Path(source).is_file():
            with open_bytes(source) as stream:
                self._header = self._find_header(enumerate(stream, 1))

    def __call__(self, line: bytes, number: int) -> bytes | Literal[False] | None:
        """The document in a line; see `LineParser`. Raises `MalformedRecord` unless skipping."""
        row = _columns(line)
        header = self._header or self._find_header([(number, line)])
        if row is None or header is None:
            return False
        # A stream is read by one thread, from its first line on.
        self._header = header
        template = template_of(self._options)
        if number == header.number and not template.numbered:
            return False
        if len(row) == header.width:
            return template.fill([row[column] for column in header.columns])
        if self._options.skip_malformed:
            return None
        fact = f"line has {_count(len(row))}, the first one {header.width}"
        raise located(MalformedRecord(fact, fix=("repair the line, or ", *SKIP)), self._source, line=number)

    def _find_header(self, lines: Iterable[tuple[int, bytes]]) -> _Header | None:
        """What the first line that is not empty says. Raises `MalformedRecord` for a column that it does not have."""
        for number, line in lines:
            names = _columns(line)
            if names is not None:
                where = f"{self._source}, line {number:,}"
                return _Header(number, len(names), _indices(names, template_of(self._options), where))
        return None


def parser(source: str, options: ReadOptions) -> LineParser:
    """The parser for the lines of `source`."""
    return _Parser(source, options)


def _columns(line: bytes) -> list[bytes] | None:
    """The columns of a line; None for an empty line."""
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    return line.split(b"\t") if line else None


def _indices(names: list[bytes], template: Template, where: str) -> list[int]:
    """The index of each field of the template. Raises `MalformedRecord` for one that the first line does not have."""
    if template.numbered:
        wanted = [int(name) for name in template.fields]
        if max(wanted) > len(names):
            raise MalformedRecord(
                f"there is no column {max(wanted)}: the line has {_count(len(names))}",
                where=where,
                fix=(Setting("text_key", f"{len(names)}"),),
            )
        return [number - 1 for number in wanted]
    known = {name.decode("utf-8", "replace"): index for index, name in enumerate(names)}
    for name in template.fields:
        if name not in known:
            shown = ", ".join(text if len(text) <= 24 else text[:23] + "…" for text in known)
            raise MalformedRecord(
                f"the first line names no column {name!r} (it has: {shown})",
                where=where,
                fix=(
                    Setting("text_key", "NAME"),
                    "; without a header line ",
                    Setting("text_key", f"{len(names)}"),
                    ", or ",
                    Setting("text_template", "{1} {2}"),
                ),
            )
    return [known[name] for name in template.fields]


def _count(columns: int) -> str:
    return "1 column" if columns == 1 else f"{columns} columns"
