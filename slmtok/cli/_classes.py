"""Kinds of tokens, told by their characters. A token may be of several; `main_class` names the first that fits."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable


def _text(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


def _all(token: bytes, kinds: str, *, leading_space: bool = False) -> bool:
    """Whether each character's general category begins with a letter of `kinds`."""
    text = _text(token)
    if text is None:
        return False
    body = text.removeprefix(" ") if leading_space else text
    return bool(body) and all(unicodedata.category(char)[0] in kinds for char in body)


def _whitespace(token: bytes) -> bool:
    text = _text(token)
    return bool(text) and text is not None and text.isspace()


def _words(token: bytes) -> bool:
    return _all(token, "LM", leading_space=True)


def _digits(token: bytes) -> bool:
    return _all(token, "N", leading_space=True)


def _punctuation(token: bytes) -> bool:
    return _all(token, "PS", leading_space=True) and not _whitespace(token)


def _split(token: bytes) -> bool:
    return _text(token) is None


def _non_ascii(token: bytes) -> bool:
    return not token.isascii() and not _split(token)


def _mixed(token: bytes) -> bool:
    return not any(test(token) for test in (_whitespace, _words, _digits, _punctuation, _split))


CLASSES: dict[str, Callable[[bytes], bool]] = {
    "words": _words,
    "digits": _digits,
    "punctuation": _punctuation,
    "whitespace": _whitespace,
    "split": _split,
    "mixed": _mixed,
    "non-ascii": _non_ascii,
    "byte": lambda token: len(token) == 1,
}
"""Letters and marks; numbers; punctuation and symbols (each with a space in front, or not); white space alone; a part
of a character; more than one of these; text beyond ASCII; one byte. `special` is told by the id."""


def main_class(token: bytes) -> str:
    """The first class that fits; `mixed` fits whatever the others do not."""
    return next(name for name, test in CLASSES.items() if test(token))
