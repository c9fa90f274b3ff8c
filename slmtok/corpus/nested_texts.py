"""The fix for records of JSON whose text is not a field: the command that writes their text as one.

The records are the lines of a file, or one array of JSON.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slmtok.corpus.template import Template
from slmtok.errors import Setting
from slmtok.files import free_name
from slmtok.record_texts import LIKELY_FIELDS, text_in


def fix_of_nested(
    source: str, suffix: str, template: Template, record: dict[str, Any]
) -> tuple[str | Setting, ...] | str | None:
    """What to do about a field with records, words or ids: a command that makes text of it, or a field of text.

    It is a field that was asked for, else one that holds the text of a record without the field. None where no such
    field is meant.

    suffix: `.jsonl` for lines, `.json` for an array, `.parquet` for a table; files of other names, which may be
    compressed, have no command.
    """
    if template.of_listed(record):
        return None
    nested = {name: value for name, value in record.items() if isinstance(value, (list, dict))}
    asked = {name: value for name, value in nested.items() if name in template.fields}
    if asked:
        text = text_in(asked, "row")
        if text is None or not source.endswith(suffix):
            texts = [name for name, value in record.items() if isinstance(value, str)]
            return (Setting("text_key", texts[0]),) if texts else "name another file: this record holds no text"
        return _as_text(source, "text", text)
    if paths := _paths_in(template, record):
        if source.endswith(suffix):
            return _as_texts(source, paths, keeps_others=template.source is not None)
        key, path = next(iter(paths.items()))
        return f"write {path} of each row as a field {key!r} of its own"
    if template.source is not None or template.fields[0] in record or not source.endswith(suffix):
        return None
    if any(isinstance(value, str) for value in record.values()):
        # A field of text may be an identifier beside the messages.
        likely = any(isinstance(record.get(name), str) for name in LIKELY_FIELDS)
        nested = {} if likely else {name: value for name, value in nested.items() if _holds_likely(value)}
    text = text_in(nested, "row")
    return _as_text(source, template.fields[0], text) if text else None


_BETWEEN_KEYS = re.compile(r"[.\[\]]+")


def _paths_in(template: Template, record: dict[str, Any]) -> dict[str, str]:
    """The texts that fields such as `text.full` and `text[full]` stand for in other tools, as expressions.

    None where another field of the template is not there either.
    """
    absent = [name for name in template.fields if name not in record]
    found = {name: path for name in absent if (path := _path_in(name, record))}
    return found if len(found) == len({*absent}) else {}


def _path_in(field: str, record: dict[str, Any]) -> str | None:
    names = [name for name in _BETWEEN_KEYS.split(field) if name]
    value: Any = record
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return "row" + "".join(f"[{name!r}]" for name in names) if isinstance(value, str) else None


def _holds_likely(value: list[Any] | dict[str, Any]) -> bool:
    """Whether a value is a record, or begins with one, that has a field of a usual name for text."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and any(isinstance(first.get(name), str) for name in LIKELY_FIELDS)


def _as_text(source: str, key: str, text: str) -> str:
    """The command that writes records with the expression `text` of each row of `source` as their field `key`."""
    return _as_texts(source, {key: text}, keeps_others=False)


def is_object_of_texts(record: Mapping[str, object]) -> bool:
    """Whether an object holds a text under each of several keys, so that none of these is a field of all texts."""
    return len(record) > 1 and all(isinstance(value, str) for value in record.values())


def fix_of_values(source: str, key: str) -> str:
    """The command that writes each value of the object in `source` as a record with the field `key`."""
    rows = f"({{{key!r}: text}} for text in json.load(sys.stdin).values())"
    program = f"import json, sys; print(*map(json.dumps, {rows}), sep=chr(10))"
    return converted(source, "text", f"python -c {shlex.quote(program)}")


def _as_texts(source: str, texts: Mapping[str, str], *, keeps_others: bool) -> str:
    """The same for several fields; `keeps_others` keeps the other fields of a row."""
    fields = ", ".join([*["**row"] * keeps_others, *(f"{key!r}: {text}" for key, text in texts.items())])
    modules, rows = _READERS[Path(source).suffix]
    program = f"import json, sys{modules}; print(*map(json.dumps, ({{{fields}}} for {rows})), sep=chr(10))"
    return converted(source, "text", f"python -c {shlex.quote(program)}")


_READERS = {
    ".jsonl": ("", "row in map(json.loads, sys.stdin)"),
    ".json": ("", "row in json.load(sys.stdin)"),
    ".parquet": (
        ", pyarrow.parquet",
        "batch in pyarrow.parquet.ParquetFile(sys.stdin.buffer).iter_batches() for row in batch.to_pylist()",
    ),
}
"""By suffix: what the command imports besides, and its rows."""


def converted(source: str, ending: str, command: str) -> str:
    """The command that writes a file beside `source`, to be named instead."""
    suffix = Path(source).suffix
    made = shlex.quote(f"{source.removesuffix(suffix) if suffix in _READERS else source}-{ending}.jsonl")
    return f"{command} < {shlex.quote(source)} > {made}, and name it"


def decoded(source: str, column: str) -> str:
    """The command that makes text of the ids in a column of a parquet file, a line of ids for each row between."""
    modules, rows = _READERS[".parquet"]
    program = f"import sys{modules}; [print(*row[{column!r}]) for {rows}]"
    stem = source.removesuffix(".parquet")
    lines, text = free_name(f"{stem}-ids.txt"), free_name(f"{stem}-text.txt")
    written = f"python -c {shlex.quote(program)} < {shlex.quote(source)} > {shlex.quote(lines)}"
    return f"{written} && {shlex.join(['slmtok', 'decode', lines, '-t', 'TOK', '--document', 'line', '-o', text])}"
