"""Bytes as one unambiguous, printable word: what a token looks like in a list.

A space is `␣`, line feed, return and tab are `\\n`, `\\r`, `\\t`, a backslash is `\\\\`, bytes that are no UTF-8 are
`\\xNN`, and characters that would not show (or that are `␣` itself) are `\\uNNNN`. So the bytes can be read off again.
"""

from __future__ import annotations

import re

from slmtok.errors import InvalidOption

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


_ESCAPE = re.compile(r"\\(?:([nrt\\])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|)")
_LETTERS = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}


def unvisible(word: str) -> bytes:
    """The bytes that a word stands for; a plain space is a space as well. Raises `InvalidOption` for a bad escape."""
    data = b""
    end = 0
    for match in _ESCAPE.finditer(word):
        data += _plain(word[end : match.start()]) + _unescape(match)
        end = match.end()
    return data + _plain(word[end:])


def _plain(text: str) -> bytes:
    return text.replace(SPACE, " ").encode("utf-8", "surrogateescape")


def _unescape(match: re.Match[str]) -> bytes:
    letter, byte, short, long = match.groups()
    if letter:
        return _LETTERS[letter]
    if byte:
        return bytes.fromhex(byte)
    code = int(short or long or "-1", 16)
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise InvalidOption(
            f"bad escape {match.string[match.start() : match.start() + 6]!r}",
            limit=r"\n, \r, \t, \\, \xNN (a byte), \uNNNN, \UNNNNNNNN",
            fix=r"write \\ for a backslash",
        )
    return chr(code).encode()
