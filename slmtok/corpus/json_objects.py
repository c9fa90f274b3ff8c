"""Files of JSON with one object whose values are texts, as a dict of documents is saved."""

from __future__ import annotations

import re
from collections.abc import Sequence

from slmtok.corpus.contents import head_of
from slmtok.corpus.formats import format_of
from slmtok.corpus.nested_texts import fix_of_values
from slmtok.corpus.paths import STDIN
from slmtok.corpus.template import template_of
from slmtok.options import ReadOptions

_MAX_FILES = 256
_HEAD_BYTES = 1 << 16
_MIN_MEAN_CHARS = 40
"""Settings and messages of programs are shorter than texts."""
_OBJECT_OF_TEXT = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.){0,200}"\s*:\s*"')
_PAIR = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)"\s*([,}])')


def texts_of_object_among(paths: Sequence[str], options: ReadOptions) -> tuple[str, str] | None:
    """The first file that is read as text because it is one JSON object, and whose values are texts; else None.

    With it comes the command that writes its texts as records; "" where one of them is the field that is read.
    """
    fields = template_of(options).fields
    if options.format != "auto" or len(fields) > 1:
        return None
    for path in paths[:_MAX_FILES]:
        if path == STDIN or format_of(path, options).name != "json":
            continue
        if _OBJECT_OF_TEXT.match(head_of(path, options).decode("utf-8-sig", "replace")):
            head = head_of(path, options, _HEAD_BYTES)
            keys = _keys_of_texts(head.decode("utf-8-sig", "replace"), is_cut=len(head) == _HEAD_BYTES)
            if keys:
                return path, "" if fields[0] in keys else fix_of_values(path, fields[0])
    return None


def _keys_of_texts(head: str, *, is_cut: bool) -> list[str]:
    """The keys at the beginning of an object of texts; none where a value is no text, or another object follows."""
    keys, chars, at, sign = list[str](), 0, head.index("{") + 1, ","
    while sign == "," and (pair := _PAIR.match(head, at)):
        keys.append(pair[1])
        chars, at, sign = chars + len(pair[2]), pair.end(), pair[3]
    is_object = not head[at:].strip() if sign == "}" else is_cut
    return keys if is_object and keys and chars >= _MIN_MEAN_CHARS * len(keys) else []
