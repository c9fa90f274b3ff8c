"""Format `json`: an array of objects, or objects one after another; a field of each, or several, is a document.

When to use it: small data sets as programs export them. Cost: the file in memory, parsed; `jsonl` needs no more than a
line. One object alone, as programs keep their settings, is text unless the format is named. Guarantee: an element that
is no such record is an error that names file and record, or is counted where skipping was requested; JSON that is
malformed is always an error, because nothing says where the next record begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slmtok.corpus.streams import open_bytes
from slmtok.corpus.template import located, template_of
from slmtok.errors import MalformedRecord, Setting

if TYPE_CHECKING:
    from slmtok.corpus.selection import Skipped
    from slmtok.options import ReadOptions

_SPACE = re.compile(r"[ \t\r\n]*")


def read_json(path: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every record. Raises `MalformedRecord`, for single records unless skipping, `Unreadable`."""
    with open_bytes(path, options.encoding) as stream:
        content = stream.read()
    values: list[Any] = []
    try:
        values.extend(_values(content.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        if options.format != "auto" or values or not content.lstrip().startswith(b"{"):
            raise _malformed(error, path, len(values) + 1) from None
        # Settings with comments.
        values = [{}]
    if options.format == "auto" and len(values) == 1 and isinstance(values[0], dict):
        yield content
        return
    template = template_of(options)
    for number, record in enumerate(values[0] if len(values) == 1 and isinstance(values[0], list) else values, 1):
        try:
            yield template.text_of(record)
        except MalformedRecord as error:
            if not options.skip_malformed:
                raise located(error, path, record=number) from None
            skipped.records += 1


def _values(text: str) -> Iterator[Any]:
    """The JSON values of a text, one after another. Raises `ValueError`, `RecursionError`."""
    decoder = json.JSONDecoder()
    at = _skip_space(text, 0)
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        yield value
        at = _skip_space(text, end)


def _skip_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string


def _malformed(error: Exception, path: str, record: int) -> MalformedRecord:
    reason = str(error) if isinstance(error, ValueError) else "it nests too deep"
    fix = ("repair the file, or ", Setting("format", "text"), " to read it as plain text")
    return located(MalformedRecord(f"not JSON: {reason}", fix=fix), path, record=record)
