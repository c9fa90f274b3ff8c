"""Files of JSON that are read as text because they hold one object, and whose object holds texts or records."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from slmtok.corpus.contents import head_of
from slmtok.corpus.formats import format_of
from slmtok.corpus.nested_texts import MIN_MEAN_CHARS, fix_of_object, fix_of_values
from slmtok.corpus.paths import STDIN
from slmtok.corpus.template import Template, template_of
from slmtok.errors import Message, Setting
from slmtok.options import ReadOptions

_MAX_FILES = 256
_HEAD_BYTES = 1 << 14
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]|"')
"""Of JSON, what opens, closes and divides values; the last one is a string without its end."""
_CLOSES = {"[": "]", "{": "}"}


def texts_of_object_among(paths: Sequence[str], options: ReadOptions) -> tuple[str, Message] | None:
    """The first file that is read as text because it is one JSON object, and that holds texts; with what to do."""
    template = template_of(options)
    if options.format != "auto":
        return None
    for path in paths[:_MAX_FILES]:
        if path == STDIN or format_of(path, options).name != "json":
            continue
        head = head_of(path, options, _HEAD_BYTES)
        if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            is_cut = len(head) == _HEAD_BYTES
            value = beginning_of_json(head.decode("utf-8-sig", "replace"), is_cut=is_cut)
            if isinstance(value, dict) and (fix := _fix(path, template, value, is_cut=is_cut)):
                return path, fix
    return None


def _fix(path: str, template: Template, value: Mapping[str, Any], *, is_cut: bool) -> Message | None:
    """What to do about an object, which may be cut; None where it holds no texts, or they are read as records."""
    texts = [text for text in value.values() if isinstance(text, str)]
    if not texts or len(texts) < len(value):
        return None if _holds_records(value, template, is_cut=is_cut) else fix_of_object(path, template, value)
    if template.source is not None or not path.endswith(".json") or sum(map(len, texts)) < MIN_MEAN_CHARS * len(texts):
        return None
    field = template.fields[0]
    return (Setting("format", "json"),) if field in value else fix_of_values(path, field)


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
        return json.loads(head[:at] + closed if is_cut else head)
    except (ValueError, RecursionError):
        return None
