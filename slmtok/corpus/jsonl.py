"""Format `jsonl`: each line is a JSON object, and one of its fields, or several in a template, is the document.

When to use it: data sets with metadata. Cost: parsing, about 1 s per gigabyte of long records. Guarantee: a line that
is not such a record is an error that names file and line, or is counted where skipping was requested; lines of white
space are ignored.

The engine parses plain records itself. This parser takes the lines that it rejects, and all lines under a template.
"""

from __future__ import annotations

import json
import shlex
from codecs import BOM_UTF8
from functools import partial
from typing import TYPE_CHECKING, Any

from slmtok.corpus.template import SKIP, LineParser, Template, located, template_of
from slmtok.errors import MalformedRecord, Setting
from slmtok.record_texts import LIKELY_FIELDS, text_in

if TYPE_CHECKING:
    from slmtok.options import ReadOptions


def parser(source: str, options: ReadOptions) -> LineParser:
    """The parser for the lines of `source`. It raises `MalformedRecord` unless skipping."""
    return partial(_parse_line, source, options)


def _parse_line(source: str, options: ReadOptions, line: bytes, number: int) -> bytes | None:
    record: Any = None
    try:
        record = _decode(line.removeprefix(BOM_UTF8) if number == 1 else line)
        return template_of(options).text_of(record)
    except MalformedRecord as error:
        if options.skip_malformed:
            return None
        if number == 1 and line.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
            error.limit, error.fix = "one JSON object a line", (Setting("format", "json"), ", which reads arrays")
        elif line.rstrip().endswith(b"},") and source.endswith(".jsonl"):
            # An array without its brackets.
            error.limit, error.fix = "a comma follows the record", _converted(source, "lines", "sed 's/,$//'")
        elif isinstance(record, dict) and (fix := _fix_of_nested(source, template_of(options), record)):
            error.fix = fix
            error.fields.pop("meant", None)
        raise located(error, source, line=number) from None


def _fix_of_nested(source: str, template: Template, record: dict[str, Any]) -> tuple[str | Setting, ...] | str | None:
    """What to do about a field with records, words or ids: a command that makes text of it, or a field of text.

    It is a field that was asked for, else one that holds the text of a record without the field. None where no such
    field is meant.
    """
    nested = {name: value for name, value in record.items() if isinstance(value, (list, dict))}
    asked = {name: value for name, value in nested.items() if name in template.fields}
    if asked:
        text = text_in(asked, "row")
        if text is None or not source.endswith(".jsonl"):
            texts = [name for name, value in record.items() if isinstance(value, str)]
            return (Setting("text_key", texts[0]),) if texts else "name another file: this record holds no text"
        return _as_text(source, "text", text)
    if template.source is not None or template.fields[0] in record or not source.endswith(".jsonl"):
        return None
    if any(isinstance(value, str) for value in record.values()):
        # A field of text may be an identifier beside the messages.
        likely = any(isinstance(record.get(name), str) for name in LIKELY_FIELDS)
        nested = {} if likely else {name: value for name, value in nested.items() if _holds_likely(value)}
    text = text_in(nested, "row")
    return _as_text(source, template.fields[0], text) if text else None


def _holds_likely(value: list[Any] | dict[str, Any]) -> bool:
    """Whether a value is a record, or begins with one, that has a field of a usual name for text."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and any(isinstance(first.get(name), str) for name in LIKELY_FIELDS)


def _as_text(source: str, key: str, text: str) -> str:
    """The command that writes records with the expression `text` of each row of `source` as their field `key`."""
    rows = f"({{{key!r}: {text}}} for row in map(json.loads, sys.stdin))"
    program = f"import json, sys; print(*map(json.dumps, {rows}), sep=chr(10))"
    return _converted(source, "text", f"python -c {shlex.quote(program)}")


def _converted(source: str, ending: str, command: str) -> str:
    """The command that writes a file beside `source`, to be named instead."""
    made = shlex.quote(f"{source.removesuffix('.jsonl')}-{ending}.jsonl")
    return f"{command} < {shlex.quote(source)} > {made}, and name it"


def _decode(line: bytes) -> Any:
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        byte, column = line[error.start], error.start + 1
        raise MalformedRecord(f"record is not valid UTF-8 (byte 0x{byte:02X} at column {column})", fix=SKIP) from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason, at = f"{error.msg.removesuffix(' at')} at column {error.colno}", error.pos
        if error.msg.startswith("Unterminated string"):
            reason, at = f"the line ends inside a string, which begins at column {error.colno}", len(text)
        elif not text[error.pos :].strip():
            reason = f"the line ends before the record does, at column {error.colno}"
        near = text[max(0, at - 12) : at + 12]
        raise MalformedRecord(
            f"record is not JSON: {reason}, near …{near}…",
            fix=("repair the line, or ", *SKIP),
        ) from None
    except (ValueError, RecursionError):
        raise MalformedRecord(
            "record is JSON that nests too deep or holds a number of thousands of digits",
            fix=("repair the line, or ", *SKIP),
        ) from None
