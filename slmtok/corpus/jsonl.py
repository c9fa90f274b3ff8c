"""Format `jsonl`: each line is a JSON object, and one of its fields, or several in a template, is the document.

When to pick it: data sets with metadata. Price: parsing, about 1 s a gigabyte of long records. Promise: a line that
is no such record is an error that names file and line, or is counted where skipping was asked for; lines of white
space alone are no records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from slmtok.corpus.template import Template, kind
from slmtok.errors import MalformedRecord

if TYPE_CHECKING:
    from slmtok.corpus.options import ReadOptions
    from slmtok.corpus.selection import Skipped


def read(stream: BinaryIO, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every record, as UTF-8. Raises `MalformedRecord` unless skipping."""
    for number, line in enumerate(stream, 1):
        if line.isspace():
            continue
        document = judged(line, number, source, options)
        if document is None:
            skipped.records += 1
        else:
            yield document


def judged(line: bytes, number: int, source: str, options: ReadOptions) -> bytes | None:
    """The text of the record in line `number`, None where it is to be left out. Raises `MalformedRecord`."""
    try:
        return _document(line, options.template)
    except MalformedRecord as error:
        if options.skip_malformed:
            return None
        error.where = f"{source}, line {number:,}"
        error.fields.update(path=source, line=number)
        raise


def _document(line: bytes, template: Template) -> bytes:
    record = _parse(line)
    if not isinstance(record, dict):
        raise MalformedRecord(
            f"record is not a JSON object but {kind(record)}",
            fix="skip_malformed=True, or format='text' for plain text",
        )
    return template.text_of(record)


def _parse(line: bytes) -> Any:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise MalformedRecord(
            f"record is not valid UTF-8 (byte 0x{line[error.start]:02X} at column {error.start + 1})",
            fix="skip_malformed=True to leave such records out; they are counted in the summary",
        ) from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        near = text[max(0, error.pos - 12) : error.pos + 12].strip("\n")
        raise MalformedRecord(
            f"record is not JSON: {error.msg} at column {error.colno}, near …{near}…",
            fix="repair the line, or skip_malformed=True to leave such records out",
        ) from None
    except (ValueError, RecursionError):
        raise MalformedRecord(
            "record is JSON that nests too deep or holds a number of thousands of digits",
            fix="repair the line, or skip_malformed=True to leave such records out",
        ) from None
