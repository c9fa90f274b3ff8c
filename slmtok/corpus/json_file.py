"""Format `json`: an array of objects, or objects one after another; a field of each, or several, is a document.

An array of strings is one of documents. An object around the array, `{"data": [...]}`, is left out of it.

When to use it: small data sets as programs export them. Cost: the file in memory, parsed, so that `max_doc_bytes` is
its bound; `jsonl` needs no more than a line. One object alone without such an array, as programs keep their settings,
is text unless the format is named. Guarantee: an element that is no such record is an error that names file and record,
or is counted where skipping was requested; JSON that is malformed is always an error, because nothing says where the
next record begins.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from slmtok.corpus.json_values import DECODER
from slmtok.corpus.jsonl_heads import control_character
from slmtok.corpus.nested_texts import (
    explain_lacking,
    fix_of_absent,
    fix_of_list,
    fix_of_nested,
    fix_of_object,
    fix_of_parts,
    fix_of_values,
    is_object_of_texts,
)
from slmtok.corpus.streams import open_bytes
from slmtok.corpus.suffixes import format_of_name
from slmtok.corpus.template import SKIP, Template, encode, located, template_of
from slmtok.corpus.text_commands import Source, remedy_through
from slmtok.errors import DocumentTooLarge, MalformedRecord, Message, Setting
from slmtok.files import free_name, read_at_most
from slmtok.options import ReadOptions

if TYPE_CHECKING:
    from slmtok.corpus.selection import Skipped

_TEXT = template_of(ReadOptions())
_SPACE = re.compile(r"[ \t\r\n]*")
_VALUE_BYTES = 100
"""About what a short value takes in memory, with its place in a list or an object."""
_STEP = 1 << 20
"""Bytes of a file that are searched for strings at once."""
_MAX_COMPARED = 100
"""Records at the beginning of a file that are compared with one without the text."""


def read_json(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every record. Raises `MalformedRecord`, for single records unless skipping, `Unreadable`."""
    with open_bytes(path, options.encoding) as stream:
        content = read_at_most(stream, options.max_doc_bytes + 1)
    if len(content) > options.max_doc_bytes:
        raise DocumentTooLarge(
            f"a file of JSON, which is parsed whole, has more than {options.max_doc_bytes:,} bytes",
            where=path,
            limit=(Setting("max_doc_bytes", options.max_doc_bytes),),
            fix=("write one object a line, which .jsonl holds, or raise ", Setting("max_doc_bytes")),
            bytes=options.max_doc_bytes,
        )
    _refuse_many_values(content, path, options.max_doc_bytes)
    file = Source(path, options.encoding)
    values: list[Any] = []
    try:
        values.extend(_values(content.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        if options.format != "auto" or values or not content.lstrip().startswith(b"{"):
            is_json = bool(values) or content.lstrip().startswith((b"{", b"["))
            raise _malformed(error, file, len(values) + 1, None if is_json else format_of_name(path, options)) from None
        # Settings with comments.
        values = [{}]
    template = template_of(options)
    records = values
    if len(values) == 1:
        records = values[0] if isinstance(values[0], list) else _records_in(values[0], template, file) or values
    if options.format == "auto" and records is values and len(values) == 1 and isinstance(values[0], dict):
        yield content
        return
    beside = tuple if options.skip_malformed else partial(records.__getitem__, slice(_MAX_COMPARED))
    for number, record in enumerate(records, 1):
        try:
            is_document = isinstance(record, str) and template == _TEXT
            yield encode(record) if is_document else template.text_of(record, beside)
        except MalformedRecord as error:
            if not options.skip_malformed:
                is_object = isinstance(record, dict)
                suffix = ".json" if records is values[0] else None
                absent = fix_of_absent(file, suffix, template, record) if is_object and suffix else None
                if absent and any(_has_text(each, template) for each in records):
                    error.fix = absent
                elif template.is_held_by(record) and any(_has_text(each, template) for each in records):
                    error.fix = _fix_of_parts(file, values, record, template)
                    error.fields.pop("meant", None)
                elif explain_lacking(error, file, suffix, template, record, records):
                    pass
                elif fix := _fix(file, values, record, error, template):
                    error.fix = fix
                raise located(error, path, record=number) from None
            skipped.records += 1


def _refuse_many_values(content: bytes, path: str, max_doc_bytes: int) -> None:
    """Raises `DocumentTooLarge` for values that take much more memory than their text."""
    limit = 4 * max_doc_bytes // _VALUE_BYTES
    if _marks(content) <= limit:
        return
    if (marks := _marks_outside_strings(content)) > limit:
        raise DocumentTooLarge(
            f"a file of JSON, which is parsed whole, has {marks:,} values, which take {marks * _VALUE_BYTES:,} bytes",
            where=path,
            limit=(f"{limit * _VALUE_BYTES:,} bytes, four times ", Setting("max_doc_bytes", max_doc_bytes)),
            fix=("write one object a line, which .jsonl holds, or raise ", Setting("max_doc_bytes")),
            bytes=max_doc_bytes,
        )


def _marks(content: bytes) -> int:
    """Marks of JSON behind which a value begins."""
    return sum(map(content.count, (b",", b"[", b"{")))


def _marks_outside_strings(content: bytes) -> int:
    unescaped = content.replace(rb"\\", b"").replace(rb"\"", b"")
    marks, in_string = 0, False
    for at in range(0, len(unescaped), _STEP):
        parts = unescaped[at : at + _STEP].split(b'"')
        marks += _marks(b"".join(parts[in_string::2]))
        in_string ^= len(parts) % 2 == 0
    return marks


def _fix(file: Source, values: list[Any], record: object, error: MalformedRecord, template: Template) -> Message | None:
    """What to do about a record without its text where a command makes records of it, or another field is meant."""
    is_array = len(values) == 1 and isinstance(values[0], list)
    if isinstance(record, list):
        return fix_of_list(file, ".json" if is_array else ".jsonl", template.fields[0], record)
    if not isinstance(record, dict):
        return None
    if template.source is None and _is_texts(values, record, error):
        return fix_of_values(file, template.fields[0])
    is_alone = len(values) == 1 and record is values[0]
    fix = fix_of_nested(file, ".json", template, record, values[0]) if is_array else None
    fix = fix_of_object(file, template, record) if is_alone else fix
    if fix:
        # It named a field that is not meant.
        error.limit = None
        error.fields.pop("meant", None)
    return fix


def _fix_of_parts(file: Source, values: list[Any], record: Any, template: Template) -> Message:
    """What to do about a record whose field has parts or no text: one of an array, of an object's, or one of several.

    Records that follow one another, with line ends in them, have no such command.
    """
    if len(values) > 1:
        return SKIP
    holders = values[0].items() if isinstance(values[0], dict) else ()
    holder = next((name for name, held in holders if isinstance(held, list) and record in held), None)
    return fix_of_parts(file, ".json", template, record, holder)


def _is_texts(values: list[Any], record: object, error: MalformedRecord) -> bool:
    """Whether the only value of a file is an object of texts, of which the error means none by its key."""
    is_alone = len(values) == 1 and record is values[0] and error.fields.get("meant") is None
    return is_alone and isinstance(record, dict) and is_object_of_texts(record)


def _has_text(record: object, template: Template) -> bool:
    try:
        template.text_of(record)
    except MalformedRecord:
        return False
    return True


def _records_in(value: Any, template: Template, file: Source) -> list[Any] | None:
    """The only array of records in an object: nothing else is in it, or objects that have the fields.

    Raises `MalformedRecord` for several arrays of objects that have the fields.
    """
    if not isinstance(value, dict):
        return None
    arrays = [array for array in value.values() if isinstance(array, list) and array]
    if len(value) == len(arrays) == 1 and all(isinstance(one, (dict, str)) for one in arrays[0]):
        return list(arrays[0])
    fields = {*template.fields}
    found = {
        name: array
        for name, array in value.items()
        if isinstance(array, list) and array and all(isinstance(one, dict) and one.keys() >= fields for one in array)
    }
    if len(found) > 1:
        raise _several(list(found), file)
    return next(iter(found.values()), None)


def _several(names: list[str], file: Source) -> MalformedRecord:
    """The error for a file with several arrays of records; its fix writes the first as a file of its own."""
    name = json.dumps(names[0])
    program = f"import json, sys; print(*map(json.dumps, json.load(sys.stdin)[{name}]), sep=chr(10))"
    output = shlex.quote(f"{file.path.removesuffix('.json')}-{names[0]}.jsonl")
    return MalformedRecord(
        f"an object with {len(names)} lists of records: {', '.join(map(repr, names))}",
        where=file.path,
        limit=("one list; ", Setting("format", "text"), " reads the file as it is"),
        fix=remedy_through(f"python -c {shlex.quote(program)}", file, output),
        path=file.path,
    )


def _values(text: str) -> Iterator[Any]:
    """The JSON values of a text, one after another. Raises `ValueError`, `RecursionError`."""
    at = _skip_space(text, 0)
    while at < len(text):
        value, end = DECODER.raw_decode(text, at)
        yield value
        at = _skip_space(text, end)


def _skip_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string


def _malformed(error: Exception, file: Source, record: int, other_format: Message | None) -> MalformedRecord:
    reason = str(error) if isinstance(error, ValueError) else "it nests too deep"
    if isinstance(error, json.JSONDecodeError) and (control := control_character(error)):
        reason = f"{control} stands in a string at line {error.lineno:,}, column {error.colno:,}"
    at = error.pos if isinstance(error, json.JSONDecodeError) else 0
    before = error.doc[:at].rstrip() if isinstance(error, json.JSONDecodeError) else ""
    if isinstance(error, json.JSONDecodeError) and before.endswith(",") and error.doc[at : at + 1] in ("]", "}"):
        comma = len(before) - 1
        line, column = before.count("\n") + 1, comma - before.rfind("\n")
        return located(
            MalformedRecord(
                f"not JSON: a comma stands before the closing {error.doc[at]!r}, at column {column}",
                fix=_without_comma(file, comma),
            ),
            file.path,
            line=line,
        )
    fix = other_format or ("repair the file, or ", Setting("format", "text"), " to read it as plain text")
    return located(MalformedRecord(f"not JSON: {reason}", fix=fix), file.path, record=record)


def _without_comma(file: Source, at: int) -> Message:
    """The command that writes a file of JSON without its character number `at`, a comma."""
    if not file.path.endswith(".json"):
        return "remove the comma"
    program = f"import sys; text = sys.stdin.read(); print(text[:{at}] + text[{at + 1}:])"
    target = shlex.quote(free_name(f"{file.path.removesuffix('.json')}-clean.json"))
    return remedy_through(f"PYTHONIOENCODING=utf-8-sig python -c {shlex.quote(program)}", file, target)
