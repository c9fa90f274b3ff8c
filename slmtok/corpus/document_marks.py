"""Marks that other tools write between the documents of a text, such as `<|endoftext|>`, by the heads of its files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from slmtok.corpus.contents import text_head_of
from slmtok.corpus.formats import format_of
from slmtok.corpus.paths import STDIN
from slmtok.options import ReadOptions

_MARKS = ("<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>")
"""The spellings of the end of a document in widespread tokenizers."""
_MAX_FILES, _HEAD_BYTES = 8, 1 << 14
"""What is looked at of a corpus."""
_MIN_MARKS = 2
"""A text about tokenizers names a mark once."""
_FOUND = {mark: re.compile(rb"(?<![\"'`(])" + re.escape(mark.encode()) + rb"(?![\"'`)])") for mark in _MARKS}
"""Each mark without quotes, in which programs write it."""


class Mark(NamedTuple):
    """spelling: of the mark. fact: where it stands, and how often near the beginning."""

    spelling: str
    fact: str


def mark_among(paths: Sequence[str], options: ReadOptions) -> Mark | None:
    """The mark between documents in the first file read as text that has some; else None."""
    for path in paths[:_MAX_FILES]:
        if format_of(path, options).name != "text":
            continue
        head = text_head_of(path, options, _HEAD_BYTES)
        numbers = {mark: len(found.findall(head)) for mark, found in _FOUND.items() if mark.encode() in head}
        mark = max(numbers, key=numbers.__getitem__, default="")
        if mark and numbers[mark] >= _MIN_MARKS:
            name = "stdin" if path == STDIN else path
            return Mark(mark, f"{name} has {mark} {numbers[mark]:,} times near its beginning, read as text")
    return None
