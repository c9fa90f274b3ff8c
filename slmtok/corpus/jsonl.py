"""Format `jsonl`: each line is a JSON object, and one of its fields is the document.

When to pick it: data sets with metadata. Price: parsing, about 1 s a gigabyte of long records. Promise: a line that
is no such record is an error that names file and line, or is counted where skipping was asked for; lines of white
space alone are no records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from slmtok.errors import MalformedRecord

if TYPE_CHECKING:
    from slmtok.corpus.readers import ReadOptions, Skipped


def read(stream: BinaryIO, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The field `options.text_key` of every record, as UTF-8. Raises `MalformedRecord` unless skipping."""
    for number, line in enumerate(stream, 1):
        if line.isspace():
            continue
        try:
            document = _document(line, options.text_key, skipped.records)
        except MalformedRecord as error:
            if options.skip_malformed:
                skipped.records += 1
                continue
            error.where = f"{source}, line {number:,}"
            error.fields.update(path=source, line=number)
            raise
        yield document


def _document(line: bytes, key: str, skipped: int) -> bytes:
    record = _parse(line, skipped)
    if not isinstance(record, dict):
        raise MalformedRecord(
            f"record is not a JSON object but {_kind(record)}",
            fix="skip_malformed=True, or format='text' for plain text",
        )
    if key not in record:
        texts = [name for name, value in record.items() if isinstance(value, str)]
        fields = ", ".join(sorted(record)) or "none"
        likely = next((name for name in ("content", "body", "raw_content") if name in texts), None)
        if likely is None and len(texts) == 1:
            likely = texts[0]
        raise MalformedRecord(
            f"record has no field {key!r} (fields: {fields})",
            fix=f"text_key={likely!r}" if likely else "text_key='NAME'",
        )
    text = record[key]
    if not isinstance(text, str):
        raise MalformedRecord(
            f"field {key!r} of the record is {_kind(text)}, not text",
            fix="skip_malformed=True to leave such records out",
        )
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise MalformedRecord(
            f"record has a lone surrogate U+{ord(text[error.start]):04X} at character {error.start:,} of its text",
            fix="skip_malformed=True to leave such records out; they are counted in the summary",
        ) from None


def _parse(line: bytes, skipped: int) -> Any:
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
            fix=f"repair the line, or skip_malformed=True (skipped so far: {skipped})",
        ) from None
    except (ValueError, RecursionError):
        raise MalformedRecord(
            "record is JSON that nests too deep or holds a number of thousands of digits",
            fix=f"repair the line, or skip_malformed=True (skipped so far: {skipped})",
        ) from None


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return names[type(value)]
