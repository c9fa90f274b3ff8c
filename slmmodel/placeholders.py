"""Words in capitals that stand for an input of the user, in commands and calls of errors.

slmtok and slmmodel hold the same text of this file, since neither imports the other; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MEANINGS = {
    "CORPUS": "your own text, a file or folder",
    "TEXT": "your own text",
    "DATA": "your own packed data",
    "RUN": "your own run of slm train",
    "TOK": "your own tokenizer file",
    "COUNTS": "your own file of slmtok count",
}
_LINE = re.compile(r"\b(?:slmtok|slm|slmmodel)\b.*")
"""The part of a fix from its first command or call on."""
_WORD = re.compile(rf"(?<![\w$./<=-])({'|'.join(MEANINGS)})(?![\w./=-])")
_CHECKS_NAME = re.compile("check the name(?!:)")
"""A fix that names no similar path."""
_EXPLAINED = r"\b{}(?: (?:is|are|has|stands)\b|, (?:a|an|the|your) )"


def explain_placeholders(fix: str, where: str, beside: Iterable[str]) -> str:
    """The fix, with a comment on the placeholders in its commands and calls.

    It has none for what the fix or a text `beside` it explains, nor for the usage of the command that was given, where
    the error is.
    """
    found = None if where and fix.startswith(f"{where} ") else _LINE.search(fix)
    words = dict.fromkeys(_WORD.findall(found[0])) if found else {}
    texts = " ".join(beside)
    new = [each for each in words if not (_names(each, texts) or re.search(_EXPLAINED.format(each), fix))]
    if not new:
        return fix
    return f"{fix}{'; ' if '  # ' in fix else '  # '}{'; '.join(f'{each}: {MEANINGS[each]}' for each in new)}"


def _names(word: str, text: str) -> bool:
    return any(found[1] == word for found in _WORD.finditer(text))


def remedy_of_missing(path: object, fix: str) -> str:
    """The fix for a missing path; of a placeholder it says what to name, where it would say to check the name."""
    meaning = MEANINGS.get(str(path))
    return f"name a path: {path} stands for {meaning}" if meaning and _CHECKS_NAME.match(fix) else fix
