"""Classes of tokens, decided by their characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable


def text_of(token: bytes) -> str | None:
    """The text of a token; None where its bytes are not UTF-8."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


def _consists_of(token: bytes, categories: str) -> bool:
    """Whether the general category of each character, after one leading space, begins with one of these letters."""
    text = (text_of(token) or "").removeprefix(" ")
    return bool(text) and all(unicodedata.category(char)[0] in categories for char in text)


def _is_whitespace(token: bytes) -> bool:
    return (text_of(token) or "").isspace()


_EXCLUSIVE: dict[str, Callable[[bytes], bool]] = {
    "words": lambda token: _consists_of(token, "LM"),
    "digits": lambda token: _consists_of(token, "N"),
    "punctuation": lambda token: _consists_of(token, "PS") and not _is_whitespace(token),
    "whitespace": _is_whitespace,
    "split": lambda token: text_of(token) is None,
}
CLASSES: dict[str, Callable[[bytes], bool]] = {
    **_EXCLUSIVE,
    "mixed": lambda token: not any(test(token) for test in _EXCLUSIVE.values()),
    "non-ascii": lambda token: not token.isascii() and text_of(token) is not None,
    "byte": lambda token: len(token) == 1,
}
"""Letters and marks; numbers; punctuation and symbols (each with or without a leading space); white space; a part of a
character; a mixture of these; text beyond ASCII; one byte. A token may be of several. `special` depends on the id."""


def main_class(token: bytes) -> str:
    """The first class of `CLASSES` that fits."""
    return next(name for name, test in CLASSES.items() if test(token))
