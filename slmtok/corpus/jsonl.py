"""Format `jsonl`: each line is a JSON object, and one of its fields, or several in a template, is the document.

When to use it: data sets with metadata. Cost: parsing, about 1 s per gigabyte of long records. Guarantee: a line that
is not such a record is an error that names file and line, or is counted where skipping was requested; lines of white
space are ignored.

The engine parses plain records itself. This parser takes the lines that it rejects, and all lines under a template.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from slmtok.corpus.encodings import utf8_evidence
from slmtok.corpus.json_values import loads
from slmtok.corpus.jsonl_heads import control_character, is_json_object, meant_by_head, meant_by_line
from slmtok.corpus.nested_texts import (
    SHOWS_BROKEN_LINE,
    converted,
    explain_lacking,
    fix_of_absent,
    fix_of_list,
    fix_of_nested,
    fix_of_parts,
)
from slmtok.corpus.paths import STDIN
from slmtok.corpus.streams import beginning_of, open_head
from slmtok.corpus.suffixes import format_of_name
from slmtok.corpus.template import SKIP, LineParser, located, template_of
from slmtok.corpus.text_commands import Source
from slmtok.errors import MalformedRecord, Message, Setting
from slmtok.file_content import is_utf_8
from slmtok.options import ReadOptions

_HEAD_BYTES = 1 << 20
"""Of a file, what is looked at where a record is not UTF-8."""
_RECORD_SEPARATOR = b"\x1e"
_UNQUOTED = (
    f"python -c 'import json, sys{SHOWS_BROKEN_LINE}; "
    "print(*map(json.loads, filter(str.strip, sys.stdin)), sep=chr(10))'"
)
"""The command that takes the objects out of lines that hold them in quotes."""
_SUFFIX = ".jsonl"
_MAX_COMPARED = 100
"""Records at the beginning of a file that are compared with one without the text."""


def parser(source: str, options: ReadOptions) -> LineParser:
    """The parser for the lines of `source`. It raises `MalformedRecord` unless skipping."""
    return partial(_parse_line, source, options)


def _parse_line(source: str, options: ReadOptions, line: bytes, number: int) -> bytes | None:
    # `None` is a value of JSON.
    record: Any = ...
    try:
        record = _decode(line.removeprefix(BOM_UTF8) if number == 1 else line)
        beside = tuple if options.skip_malformed else partial(_first_records, source, options)
        return template_of(options).text_of(record, beside)
    except MalformedRecord as error:
        if options.skip_malformed:
            return None
        file = Source(source, options.encoding)
        if number == 1 and line.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
            error.limit, error.fix = "one JSON object a line", _fix_of_array(source, options, record)
        elif number == 1 and isinstance(record, str) and is_json_object(record):
            error.limit = "one JSON object a line, and this is one in quotes"
            error.fix = converted(file, "lines", _UNQUOTED)
        elif line.startswith(_RECORD_SEPARATOR):
            error.limit = "JSON text sequences (RFC 7464) have a separator, U+001E, before each record"
            error.fix = converted(file, "lines", r"tr -d '\036'")
        elif number == 1 and isinstance(record, str) and options.text_template is None:
            error.limit, error.fix = "one JSON object a line", _fix_of_text(options)
        elif (
            number == 1
            and not line.lstrip(b" \t" + BOM_UTF8).startswith(b"{")
            and (fix := format_of_name(source, options))
        ):
            error.fix = fix
        elif line.rstrip().endswith(b"},"):
            # An array without its brackets.
            error.limit, error.fix = "a comma follows the record", converted(file, "lines", "sed 's/,$//'")
        elif not is_utf_8(line, is_whole=True):
            error.fix = _fix_of_encoding(source)
        elif record is ... and (found := meant_by_line(line, file) or meant_by_head(source, options)):
            error.limit, error.fix = found
        elif isinstance(record, dict) and (fix := _fix_of_absent(source, options, record)):
            error.fix = fix
        elif template_of(options).is_held_by(record) and _begins_with_text(source, options):
            error.fix = fix_of_parts(file, _SUFFIX, template_of(options), record)
            error.fields.pop("meant", None)
        elif explain_lacking(error, file, _SUFFIX, template_of(options), record, _first_records(source, options)):
            pass
        elif isinstance(record, dict) and (fix := fix_of_nested(file, _SUFFIX, template_of(options), record)):
            # The limit named a field that is not meant.
            error.limit, error.fix = None, fix
            error.fields.pop("meant", None)
        raise located(error, source, line=number) from None


def _fix_of_array(source: str, options: ReadOptions, record: Any) -> Message:
    """What to do about an array in the first line: it holds the records of the file, or each line is one."""
    holds_all: Message = (Setting("format", "json"), ", which reads arrays")
    if not isinstance(record, list) or not record:
        return holds_all
    lines = beginning_of(source, options.encoding, _HEAD_BYTES).splitlines()
    if sum(1 for _ in islice(filter(bytes.strip, lines), 2)) < 2:
        return holds_all
    return fix_of_list(Source(source, options.encoding), _SUFFIX, template_of(options).fields[0], record) or SKIP


def _fix_of_text(options: ReadOptions) -> Message:
    """What to do about a line that is a text in quotes."""
    without: Message = ("; leave ", Setting("text_key"), " out")
    key = without if options.text_key != ReadOptions.text_key else ()
    return Setting("format", "json"), ", which reads texts without a field", *key


def _fix_of_absent(source: str, options: ReadOptions, record: dict[str, Any]) -> Message | None:
    """As `fix_of_absent`, where a record near the beginning of the file has the fields."""
    fix = fix_of_absent(Source(source, options.encoding), _SUFFIX, template_of(options), record)
    return fix if fix and _begins_with_text(source, options) else None


def _begins_with_text(source: str, options: ReadOptions) -> bool:
    """Whether a record near the beginning of a file has the text, so that no other field is meant."""
    template = template_of(options)
    for record in _first_records(source, options):
        with suppress(MalformedRecord):
            template.text_of(record)
            return True
    return False


def _first_records(source: str, options: ReadOptions) -> Iterator[Any]:
    """The records near the beginning of a file; without lines that are none."""
    for line in beginning_of(source, options.encoding, _HEAD_BYTES).splitlines()[:_MAX_COMPARED]:
        with suppress(MalformedRecord):
            if line.strip():
                yield _decode(line)


def _fix_of_encoding(source: str) -> Message:
    """What to do about a record that is not UTF-8: to skip it where the file is UTF-8 elsewhere, else another encoding.

    Skipping would lose each record beyond ASCII of a file in another encoding.
    """
    from slmtok.corpus.likely_encodings import encoding_remedy

    head = open_head(source, _HEAD_BYTES) if source == STDIN or Path(source).is_file() else b""
    if not head or utf8_evidence(head).is_mixed:
        return SKIP
    return ("name the encoding; ", *encoding_remedy(head), "; or ", *SKIP)


def _decode(line: bytes) -> Any:
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        byte, column = line[error.start], error.start + 1
        raise MalformedRecord(f"record is not valid UTF-8 (byte 0x{byte:02X} at column {column})", fix=SKIP) from None
    try:
        return loads(text)
    except json.JSONDecodeError as error:
        reason, at = f"{error.msg.removesuffix(' at')} at column {error.colno}", error.pos
        if error.msg.startswith("Unterminated string"):
            reason, at = f"the line ends inside a string, which begins at column {error.colno}", len(text)
        elif control := control_character(error):
            reason = f"{control} stands in a string at column {error.colno}"
        elif not text[error.pos :].strip():
            reason = f"the line ends before the record does, at column {error.colno}"
        near = text[max(0, at - 12) : at + 12]
        raise MalformedRecord(
            f"record is not JSON: {reason}, near …{near}…",
            fix=("repair the line, or ", *SKIP),
        ) from None
    except RecursionError:
        raise MalformedRecord("record is JSON that nests too deep", fix=("repair the line, or ", *SKIP)) from None
