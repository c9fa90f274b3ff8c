"""What a file without a JSON line at its beginning is instead, for the fix of the error about its first line.

To skip malformed lines would leave nothing of such a file.
"""

from __future__ import annotations

import ast
import json
import shlex
from itertools import islice
from typing import TYPE_CHECKING, Any

from slmtok.corpus.json_values import DECODER, loads
from slmtok.corpus.nested_texts import SHOWS_BROKEN_LINE, converted
from slmtok.corpus.streams import bare_suffix, beginning_of
from slmtok.corpus.suffixes import SUFFIXES
from slmtok.corpus.text_commands import Source
from slmtok.errors import Message, Setting
from slmtok.file_content import is_utf_8
from slmtok.sizes import counted

if TYPE_CHECKING:
    from slmtok.options import ReadOptions

_HEAD_BYTES = 1 << 16
_MAX_LINES = 100
_OF_PYTHON = (
    "import ast, json, sys; "
    "print(*(json.dumps(ast.literal_eval(row)) for row in sys.stdin if row.strip()), sep=chr(10))"
)
_OF_CONTROLS = (
    f"import json, sys{SHOWS_BROKEN_LINE}; "
    "print(*(json.dumps(json.loads(row, strict=False)) for row in sys.stdin.buffer if row.strip()), sep=chr(10))"
)
_ESCAPED = r"JSON escapes control characters, such as \t and \u0001"


def control_character(error: json.JSONDecodeError) -> str | None:
    """The control character that a string of JSON holds as itself, `control character U+0001`; None of other faults."""
    if not error.msg.startswith("Invalid control character"):
        return None
    return f"control character U+{ord(error.doc[error.pos]):04X}"


def meant_by_line(line: bytes, source: Source) -> tuple[Message, Message] | None:
    """The limit and the fix for a line that is JSON but for control characters in its strings; None of others."""
    try:
        loads(line, strict=False)
    except (ValueError, RecursionError):
        return None
    return _ESCAPED, converted(source, "json", f"python -c {shlex.quote(_OF_CONTROLS)}")


def meant_by_head(source: str, options: ReadOptions) -> tuple[Message | None, Message] | None:
    """The limit and the fix for a file whose first lines are no JSON; None where one of them is."""
    head = beginning_of(source, options.encoding, _HEAD_BYTES)
    if not head or not is_utf_8(head):
        return None
    text = head.decode("utf-8-sig", "ignore").lstrip()
    lines = [line for line in islice(text.splitlines(), _MAX_LINES) if line.strip()]
    if any(is_json_object(line) for line in lines):
        return None
    if not any(line.lstrip().startswith(("{", "[")) for line in lines):
        return _plain(source)
    if _begins_with_object(text):
        return "one JSON object a line", (Setting("format", "json"), ", which reads objects of several lines")
    if _is_dict(lines[0]):
        return "JSON, and this is a dict of Python", _of_python(source, options)
    is_cut = len(head) == _HEAD_BYTES and len(lines) == 1
    return None if is_cut else (None, f"repair the file: of its first {counted(len(lines), 'line')} none is JSON")


def _of_python(source: str, options: ReadOptions) -> Message:
    return converted(Source(source, options.encoding), "json", f"python -c {shlex.quote(_OF_PYTHON)}")


def _plain(source: str) -> tuple[Message | None, Message]:
    if bare_suffix(source) in SUFFIXES["jsonl"]:
        return None, (Setting("format", "text"), ", if it is to be read as plain text; else name another file")
    return None, ("leave ", Setting("format", "jsonl"), " out: the file has no JSON in its first lines")


def is_json_object(line: str) -> bool:
    """Whether a line is an object of JSON."""
    try:
        return isinstance(loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _begins_with_object(text: str) -> bool:
    """Whether an object of JSON stands at the beginning, over several lines."""
    try:
        value: Any = DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _is_dict(line: str) -> bool:
    """Whether a line that is no JSON is a dict of Python, which differs in its marks and names, not inside strings."""
    try:
        loads(line)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Invalid"):
            return False
    except (ValueError, RecursionError):
        return False
    try:
        return isinstance(ast.literal_eval(line), dict)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
