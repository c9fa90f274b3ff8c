"""Files of JSON that are read as text because they hold one object, and whose object holds texts or records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slmtok.corpus.contents import text_head_of
from slmtok.corpus.formats import format_of
from slmtok.corpus.json_values import loads
from slmtok.corpus.nested_texts import MIN_MEAN_CHARS, fix_of_object, fix_of_values, is_object_of_texts
from slmtok.corpus.paths import STDIN
from slmtok.corpus.template import Template, template_of
from slmtok.corpus.text_commands import Source
from slmtok.corpus.text_paths import has_ids
from slmtok.errors import Message, Setting
from slmtok.options import ReadOptions
from slmtok.record_texts import LIKELY_FIELDS

_MAX_FILES = 256
_HEAD_BYTES, _TABLE_BYTES = 1 << 14, 1 << 22
"""What is looked at of an object, and of one that is a table by columns, whose texts may stand behind numbers."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]|"')
"""Of JSON, what opens, closes and divides values; the last one is a string without its end."""
_CLOSES = {"[": "]", "{": "}"}


class ObjectFound(NamedTuple):
    """path: of an object of JSON that holds texts. more: files of such objects with the same keys. fix: what to do."""

    path: str
    more: int
    fix: Message


def texts_of_object_among(paths: Sequence[str], options: ReadOptions) -> ObjectFound | None:
    """The first file that is read as text because it is one JSON object, and that holds texts; with what to do."""
    template = template_of(options)
    if options.format != "auto":
        return None
    files = [path for path in paths[:_MAX_FILES] if path != STDIN and format_of(path, options).name == "json"]
    for at, path in enumerate(files):
        value, is_cut = _object_in(path, options)
        if value is None:
            continue
        key = _text_key(value, template)
        if key is not None and len(files) == len(paths[:_MAX_FILES]):
            others = (_object_in(other, options)[0] for other in files[at + 1 :])
            # Several objects with the same keys are records, each in a file of its own.
            if more := sum(other is not None and other.keys() == value.keys() for other in others):
                named = (" ", Setting("text_key", key)) if key != template.fields[0] else ()
                return ObjectFound(path, more, (Setting("format", "json"), *named))
        if fix := _fix(Source(path, options.encoding), template, value, is_cut=is_cut):
            return ObjectFound(path, 0, fix)
    return None


def _object_in(path: str, options: ReadOptions, n_bytes: int = _HEAD_BYTES) -> tuple[dict[str, Any] | None, bool]:
    """The beginning of the object of JSON in a file, and whether it is cut; None for other values."""
    head = text_head_of(path, options, n_bytes)
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return None, False
    is_cut = len(head) == n_bytes
    value = beginning_of_json(head.decode("utf-8-sig", "replace"), is_cut=is_cut)
    if not isinstance(value, dict):
        return None, is_cut
    before, last = [None, None, *value.values()][-2:]
    if is_cut and all(isinstance(column, dict) and has_ids(column) for column in value.values()):
        return _object_in(path, options, _TABLE_BYTES) if n_bytes < _TABLE_BYTES else (value, is_cut)
    if isinstance(last, dict) and isinstance(before, dict) and last.keys() < before.keys():
        # The head ends within the last of some records.
        value.popitem()
    return value, is_cut


def _text_key(value: Mapping[str, Any], template: Template) -> str | None:
    """The key of the text in an object that may be a record: the requested one, a usual one, or the longest value's.

    None where settings are likely: a usual key is not there, and not all values are texts, or none is long.
    """
    if template.source is not None:
        return None
    usual = (key for key in (template.fields[0], *LIKELY_FIELDS) if isinstance(value.get(key), str))
    if found := next(usual, None):
        return found
    key = max(value, key=lambda key: len(str(value[key]))) if is_object_of_texts(value) else None
    return key if key is not None and len(value[key]) >= MIN_MEAN_CHARS else None


def _fix(file: Source, template: Template, value: Mapping[str, Any], *, is_cut: bool) -> Message | None:
    """What to do about an object, which may be cut; None where it holds no texts, or they are read as records."""
    texts = [text for text in value.values() if isinstance(text, str)]
    if not texts or len(texts) < len(value):
        return None if _holds_records(value, template, is_cut=is_cut) else fix_of_object(file, template, value)
    if (
        template.source is not None
        or not file.path.endswith(".json")
        or sum(map(len, texts)) < MIN_MEAN_CHARS * len(texts)
    ):
        return None
    field = template.fields[0]
    return (Setting("format", "json"),) if field in value else fix_of_values(file, field)


def _holds_records(value: Mapping[str, Any], template: Template, *, is_cut: bool) -> bool:
    """Whether the records in an object are read: nothing else is in it, or they have the fields."""
    firsts = [held[0] for held in value.values() if isinstance(held, list) and held]
    is_only = len(value) == len(firsts) == 1 and (not is_cut or isinstance(firsts[0], str))
    return is_only or any(map(template.is_held_by, firsts))


def beginning_of_json(head: str, *, is_cut: bool) -> Any:
    """The value of JSON that a text begins with, without what follows its last comma where it is cut; else None."""
    stack, at, closed = list[str](), 0, ""
    for token in _TOKEN.finditer(head) if is_cut else ():
        sign = token[0]
        if sign == '"':
            break
        if sign in _CLOSES:
            stack.append(_CLOSES[sign])
        elif sign in "]}":
            if not stack or stack.pop() != sign:
                return None
        elif sign == ",":
            at, closed = token.start(), "".join(reversed(stack))
    try:
        return loads(head[:at] + closed if is_cut else head)
    except (ValueError, RecursionError):
        return None
