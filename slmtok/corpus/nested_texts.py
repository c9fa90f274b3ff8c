"""The fix for records of JSON whose text is not a field: the command that writes their text as one.

The records are the lines of a file, or one array of JSON.
"""

from __future__ import annotations

import re
import shlex
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from slmtok.corpus.json_values import loads
from slmtok.corpus.streams import beginning_of, compression, open_head
from slmtok.corpus.suffixes import SUFFIXES
from slmtok.corpus.template import SKIP, Template
from slmtok.corpus.text_commands import Source, remedy_through
from slmtok.corpus.text_paths import (
    TextPath,
    has_ids,
    is_of_ids,
    literal,
    path_in,
    path_of_list,
    text_function,
    texts_in,
)
from slmtok.errors import MalformedRecord, Setting, suggestion
from slmtok.files import free_name
from slmtok.record_texts import LIKELY_FIELDS, field_of_texts

_Remedy: TypeAlias = "tuple[str | Setting, ...]"
MIN_MEAN_CHARS = 40
"""Settings and messages of programs are shorter than texts."""


def fix_of_nested(
    source: Source, suffix: str, template: Template, record: dict[str, Any], rows: Sequence[object] = ()
) -> _Remedy | str | None:
    """What to do about a field with records, words or ids: a command that makes text of it, or a field of text.

    It is a field that was asked for, else one that holds the text of a record without the field. None where no such
    field is meant.

    suffix: of the format: `.jsonl`, `.json` for an array, `.parquet` for a table. rows: of the array.
    """
    if template.of_listed(record):
        return None
    record = _with_later_rows(record, rows[:_MAX_ROWS] if suffix != ".jsonl" else _first_rows(source))
    nested = {name: value for name, value in record.items() if isinstance(value, (list, dict))}
    asked = {name: value for name, value in nested.items() if name in template.fields}
    if asked:
        path = path_in(asked)
        if path is None or not _is_written_again(source, suffix):
            texts = [name for name, value in record.items() if isinstance(value, str)]
            return (Setting("text_key", texts[0]),) if texts else "name another file: this record holds no text"
        if template.source is not None:
            return _as_texts(source, _parts_in(asked), suffix=suffix, keeps_others=True)
        return _as_texts(source, {template.fields[0]: path._replace(is_partial=True)}, suffix=suffix)
    if paths := _paths_in(template, record):
        if _is_written_again(source, suffix):
            return _as_texts(source, paths, suffix=suffix, keeps_others=template.source is not None)
        key, found = next(iter(paths.items()))
        return f"write row{''.join(f'[{name!r}]' for name in found.names)} of each row as a field {key!r} of its own"
    if template.source is not None or template.fields[0] in record or not _is_written_again(source, suffix):
        return None
    path = _nested_text(record, nested)
    return _as_texts(source, {template.fields[0]: path}, suffix=suffix) if path else None


def _parts_in(values: Mapping[str, Any]) -> dict[str, TextPath]:
    """The ways to the texts in fields that hold lists or objects, and in other rows a text."""
    return {
        name: path._replace(is_partial=True)
        for name, value in values.items()
        if isinstance(value, (list, dict)) and (path := path_in({name: value}))
    }


def fix_of_parts(
    source: Source, suffix: str, template: Template, record: Mapping[str, Any], holder: str | None = None
) -> _Remedy:
    """What to do about a record whose text is in a list or an object, and a field of text in other records.

    A command joins the parts; where there are none, such records are skipped. holder: of the records, an object's key.
    """
    parts = _parts_in({name: record[name] for name in dict.fromkeys(template.fields)})
    if not parts or not _is_written_again(source, suffix):
        return SKIP
    rows = f"row in json.load(sys.stdin)[{literal(holder)}]" if holder is not None else None
    keeps_others = template.source is not None
    return (*_as_texts(source, parts, suffix=suffix, keeps_others=keeps_others, rows=rows), "; or ", *SKIP)


def _is_written_again(source: Source, suffix: str) -> bool:
    """Whether a command can write the rows of a source again: those of a table, from a plain file alone."""
    return suffix != ".parquet" or source.path.endswith(suffix)


def _with_later_rows(record: dict[str, Any], rows: Iterable[object]) -> dict[str, Any]:
    """A record with what other rows of its file have: more elements of lists, and values in the place of null.

    Not each message is written alike.
    """
    lists = {name: [*value] for name, value in record.items() if isinstance(value, list) and value}
    nulls = {name: value for name, value in record.items() if value is None}
    if not (lists or nulls):
        return record
    for row in rows:
        if isinstance(row, dict):
            for name, value in lists.items():
                more = row.get(name)
                value += more if isinstance(more, list) else []
            nulls = {name: row.get(name) if value is None else value for name, value in nulls.items()}
    return {**record, **lists, **nulls}


def _first_rows(source: Source) -> Iterator[object]:
    for line in beginning_of(source.path, source.encoding, _HEAD_BYTES).splitlines()[:_MAX_ROWS]:
        with suppress(ValueError, RecursionError):
            yield loads(line)


_HEAD_BYTES, _MAX_ROWS = 1 << 16, 100
"""Of a file whose rows hold lists or null, what is looked at."""


def fix_of_absent(source: Source, suffix: str, template: Template, record: Mapping[str, Any]) -> _Remedy | None:
    """What to do about fields of a template that other records have, and this one lacks or has as null.

    A command that writes the records with empty texts for them, or to skip such records. None where none lacks.
    """
    absent = [name for name in dict.fromkeys(template.fields) if record.get(name) is None]
    if not absent or template.source is None:
        return None
    if not _is_written_again(source, suffix):
        return SKIP
    texts = {name: f'"" if row.get({literal(name)}) is None else row[{literal(name)}]' for name in absent}
    return (*_as_texts(source, texts, suffix=suffix, keeps_others=True), "; an absent text is empty in it; or ", *SKIP)


_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]*://\S+\s*", re.IGNORECASE)


def explain_lacking(
    error: MalformedRecord,
    source: Source,
    suffix: str | None,
    template: Template,
    record: object,
    records: Iterable[object],
) -> bool:
    """Explains the error of a record without the field of the text, which others of its file have; False for another.

    Such a record is skipped. Its text may have another name, that no record with the text has beside it; then a command
    gives it the name of the others. A usual name that all records have may be meant where most of them lack the field.

    suffix: of the format, as of `fix_of_nested`; None for a file that no command writes again. records: of the file.
    """
    key, name = template.fields[0], error.fields.get("meant")
    if template.source is not None or not isinstance(record, dict) or key in record:
        return False
    others = [each for each in records if isinstance(each, dict)]
    with_text = [each for each in others if isinstance(each.get(key), str)]
    is_named = isinstance(name, str) and (name in LIKELY_FIELDS or suggestion(key, [name]) is not None)
    is_of_all = is_named and 2 * len(with_text) < len(others) and all(name in each for each in others)
    if not with_text or is_of_all:
        return False
    error.fields.pop("meant", None)
    error.limit, error.fix = f"other records of the file have {key!r}", SKIP
    is_beside = any(name in each for each in with_text)
    if isinstance(name, str) and suffix and not (is_beside or _ADDRESS.fullmatch(str(record[name]))):
        text = f"row.get({literal(key)}, row.get({literal(name)}))"
        error.fix = (*_as_texts(source, {key: text}, suffix=suffix, keeps_others=True), "; or ", *SKIP)
    return True


def _nested_text(record: Mapping[str, Any], nested: Mapping[str, Any]) -> TextPath | None:
    """The way to the text in the nested fields of a row; None where a field of text is meant instead."""
    if any(isinstance(value, str) for value in record.values()):
        # A field of text may be an identifier beside the messages.
        if any(isinstance(record.get(name), str) for name in LIKELY_FIELDS):
            return None
        if likely := {name: value for name, value in nested.items() if _holds_likely(value)}:
            return path_in(likely)
        path, text = max(texts_in(record), key=lambda found: len(found[1]))
        is_nested = not isinstance(record[str(path.names[0])], str)
        return path if is_nested and len(text) >= MIN_MEAN_CHARS else None
    return path_in(nested)


def fix_of_list(source: Source, suffix: str, key: str, row: list[Any]) -> _Remedy | None:
    """The command that writes rows which are lists of texts or records as records; None for other lists."""
    path = path_of_list(row)
    if path is None or not _is_written_again(source, suffix):
        return None
    return _as_texts(source, {key: path}, suffix=suffix)


def fix_of_object(source: Source, template: Template, value: Mapping[str, Any]) -> _Remedy | str | None:
    """What to do about an object of JSON with a list of records, or a column of texts, among its values.

    None for other objects, such as settings, and for one whose records have the fields.
    """
    if _is_split(value):
        rows = 'dict(zip(table["columns"], row)) for table in [json.load(sys.stdin)] for row in table["data"]'
        return _as_texts(source, {}, keeps_others=True, rows=f"row in ({rows})")
    if is_of_ids(value):
        return _fix_of_held(source, template, next(iter(value.values())), ".values()")
    for name, held in value.items():
        first = held[0] if isinstance(held, list) and held else None
        if (
            isinstance(first, dict)
            and not template.is_held_by(first)
            and (fix := _fix_of_rows(source, name, template, first))
        ):
            return fix
        column = [*held.values()] if isinstance(held, dict) else held if isinstance(held, list) else []
        is_meant = name in (*LIKELY_FIELDS, *template.fields) and template.source is None
        if is_meant and column and all(isinstance(each, str) for each in column):
            values = ".values()" if isinstance(held, dict) else ""
            return _as_records(source, template.fields[0], f"json.load(sys.stdin)[{literal(name)}]{values}")
    columns = {name: held for name, held in value.items() if isinstance(held, dict) and held and has_ids(held)}
    means = {name: sum(map(len, held.values())) / len(held) for name, held in columns.items() if _are_texts(held)}
    if template.source is None and max(means.values(), default=0) >= MIN_MEAN_CHARS:
        name = max(means, key=lambda each: means[each])
        return _as_records(source, template.fields[0], f"json.load(sys.stdin)[{literal(name)}].values()")
    for outer, held in value.items():
        for name, rows in held.items() if isinstance(held, dict) else ():
            first = rows[0] if isinstance(rows, list) and rows else None
            place = f"[{literal(outer)}][{literal(name)}]"
            if isinstance(first, dict) and (fix := _fix_of_held(source, template, first, place)):
                return fix
    return None


def _are_texts(column: Mapping[str, Any]) -> bool:
    return all(isinstance(each, str) for each in column.values())


def _fix_of_held(source: Source, template: Template, first: object, place: str) -> _Remedy | None:
    """What to do about texts or records at a place in an object, such as `["data"]["rows"]`, of which one is given."""
    path = path_of_list(first) if isinstance(first, dict) else TextPath(())
    field, text = template.fields[0], first
    if path is None or (template.source is not None and not template.is_held_by(first)):
        return None
    rows = f"row in json.load(sys.stdin){place}"
    if template.is_held_by(first):
        return _as_texts(source, {}, keeps_others=True, rows=rows)
    for name in path.names:
        text = text.get(name) if isinstance(text, dict) and name is not None else None
    is_text = path.names[-1:] in [(name,) for name in LIKELY_FIELDS]
    is_text = is_text or (isinstance(text, str) and len(text) >= MIN_MEAN_CHARS)
    return _as_texts(source, {field: path}, rows=rows) if is_text else None


def _is_split(value: Mapping[str, Any]) -> bool:
    """Whether an object is a table of pandas by `orient="split"`: columns, index and data, which may be cut off."""
    columns, held = value.get("columns"), value.get("data", value.get("index"))
    is_named = isinstance(columns, list) and bool(columns) and all(isinstance(name, str) for name in columns)
    return is_named and isinstance(held, list) and ("data" not in value or bool(held and isinstance(held[0], list)))


def _fix_of_rows(source: Source, name: str, template: Template, first: dict[str, Any]) -> _Remedy | str | None:
    """The same for the list `name` of rows, of which one is given."""
    texts = [key for key, value in first.items() if isinstance(value, str)]
    nested = {key: value for key, value in first.items() if isinstance(value, (list, dict))}
    if template.source is None and (path := _nested_text(first, nested)):
        return _as_texts(source, {template.fields[0]: path}, rows=f"row in json.load(sys.stdin)[{literal(name)}]")
    is_text = any(key in LIKELY_FIELDS or len(first[key]) >= MIN_MEAN_CHARS for key in texts)
    if not is_text:
        return None
    missing = next(field for field in template.fields if field not in first)
    return template.missing(missing, first, kind="columns").parts["fix"]


_BETWEEN_KEYS = re.compile(r"[.\[\]]+")


def _paths_in(template: Template, record: dict[str, Any]) -> dict[str, TextPath]:
    """The ways that fields such as `text.full` and `text[full]` stand for in other tools.

    None where another field of the template is not there either.
    """
    absent = [name for name in template.fields if name not in record]
    found = {name: path for name in absent if (path := _path_in(name, record))}
    return found if len(found) == len({*absent}) else {}


def _path_in(field: str, record: dict[str, Any]) -> TextPath | None:
    names = [name for name in _BETWEEN_KEYS.split(field) if name]
    value: Any = record
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return TextPath((*names,)) if isinstance(value, str) else None


def _holds_likely(value: list[Any] | dict[str, Any]) -> bool:
    """Whether a value is a record, or begins with one, that has a field of a usual name for text."""
    return field_of_texts(value if isinstance(value, list) else [value]) is not None


def is_object_of_texts(record: Mapping[str, object]) -> bool:
    """Whether an object holds a text under each of several keys, so that none of these is a field of all texts."""
    return len(record) > 1 and all(isinstance(value, str) for value in record.values())


def fix_of_values(source: Source, key: str) -> _Remedy:
    """The command that writes each value of the object in `source` as a record with the field `key`."""
    return _as_records(source, key, "json.load(sys.stdin).values()")


def _as_records(source: Source, key: str, texts: str) -> _Remedy:
    """The command that writes each text of an expression as a record with the field `key`."""
    rows = f"({{{literal(key)}: text}} for text in {texts} if isinstance(text, str))"
    program = f"import json, sys; print(*map(json.dumps, {rows}), sep=chr(10))"
    return converted(source, "text", f"python -c {shlex.quote(program)}")


def _as_texts(
    source: Source,
    texts: Mapping[str, str | TextPath],
    *,
    suffix: str = ".jsonl",
    keeps_others: bool = False,
    rows: str | None = None,
) -> _Remedy:
    """The command that writes records with these texts of each row of `source`, expressions or the ways to them.

    Rows without the text are left out; `keeps_others` keeps the other fields of a row, and all rows.
    suffix: of the format. rows: those of another file.
    """
    calls = {key: text.call() if isinstance(text, TextPath) else text for key, text in texts.items()}
    modules, rows = ("", rows) if rows else _READERS[suffix]
    paths = [text for text in texts.values() if isinstance(text, TextPath)]
    function = f"{text_function(paths)}; " if paths else ""
    if keeps_others:
        fields = ", ".join(["**row", *(f"{literal(key)}: {text}" for key, text in calls.items())])
        records = f"{{{fields}}} for {rows} if isinstance(row, dict)"
    else:
        ((key, text),) = calls.items()
        is_row = "" if paths else " if isinstance(row, dict)"
        records = f"{{{literal(key)}: found}} for {rows}{is_row} for found in [{text}] if found"
    program = f"import json, sys{modules}; {function}print(*map(json.dumps, ({records})), sep=chr(10))"
    return converted(source, "text", f"python -c {shlex.quote(program)}")


SHOWS_BROKEN_LINE = (
    '; sys.excepthook = lambda kind, error, trace: sys.exit("not JSON: " + str(getattr(error, "doc", error))[:80])'
)
"""Behind the imports of a command that reads lines of JSON: a broken one ends it with the line, not a traceback."""
_READERS = {
    **dict.fromkeys(SUFFIXES["jsonl"], (SHOWS_BROKEN_LINE, "row in map(json.loads, filter(str.strip, sys.stdin))")),
    ".json": ("", "row in json.load(sys.stdin)"),
    ".parquet": (
        ", pyarrow.parquet",
        "batch in pyarrow.parquet.ParquetFile(sys.stdin.buffer).iter_batches() for row in batch.to_pylist()",
    ),
}
"""By suffix: what the command imports besides, and its rows."""


def converted(source: Source, ending: str, command: str) -> _Remedy:
    """The command that writes a file beside `source`, to be named instead."""
    bare = source.path
    if command.startswith("python ") and Path(bare).is_file() and open_head(bare, len(BOM_UTF8)) == BOM_UTF8:
        command = f"PYTHONIOENCODING=utf-8-sig {command}"
    if compression(bare) != "plain":
        bare = bare.removesuffix(Path(bare).suffix)
    suffix = Path(bare).suffix
    made = shlex.quote(f"{bare.removesuffix(suffix) if suffix in _READERS else bare}-{ending}.jsonl")
    return remedy_through(command, source, made)


def decoded(source: str, column: str) -> str:
    """The command that makes text of the ids in a column of a parquet file, a line of ids for each row between."""
    modules, rows = _READERS[".parquet"]
    program = f"import sys{modules}; [print(*row[{column!r}]) for {rows}]"
    stem = source.removesuffix(".parquet")
    lines, text = free_name(f"{stem}-ids.txt"), free_name(f"{stem}-text.txt")
    written = f"python -c {shlex.quote(program)} < {shlex.quote(source)} > {shlex.quote(lines)}"
    return f"{written} && {shlex.join(['slmtok', 'decode', lines, '-t', 'TOK', '--document', 'line', '-o', text])}"
