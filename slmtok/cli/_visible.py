"""Bytes as one unambiguous, printable word: what a token looks like in a list.

A space is `␣`, line feed, return and tab are `\\n`, `\\r`, `\\t`, a backslash is `\\\\`, bytes that are no UTF-8 are `\\xNN`,
and characters that would not show (or that are `␣` itself) are `\\uNNNN`. So the bytes can be read off the word again.
"""

from __future__ import annotations

SPACE = "␣"
_NAMED = {" ": SPACE, "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def visible(data: bytes) -> str:
    """The word for these bytes."""
    return "".join(map(_character, data.decode("utf-8", "surrogateescape")))


def _character(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if char == SPACE or not char.isprintable():
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return char
