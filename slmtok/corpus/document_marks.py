"""Marks that other tools write between the documents of a text, such as `<|endoftext|>`, by the heads of its files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from slmtok.corpus.contents import head_of
from slmtok.corpus.formats import format_of
from slmtok.options import ReadOptions

_MARKS = ("<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>")
"""The spellings of the end of a document in widespread tokenizers."""
_MAX_FILES, _HEAD_BYTES = 8, 1 << 14
"""What is looked at of a corpus."""
_MIN_MARKS = 2
"""A text about tokenizers names a mark once."""
_FOUND = {mark: re.compile(rb"(?<![\"'`(])" + re.escape(mark.encode()) + rb"(?![\"'`)])") for mark in _MARKS}
"""Each mark without quotes, in which programs write it."""


def mark_among(paths: Sequence[str], options: ReadOptions) -> tuple[str, str, int] | None:
    """The first file read as text that has marks between documents, the mark, and how many are near its beginning."""
    for path in paths[:_MAX_FILES]:
        if format_of(path, options).name != "text":
            continue
        head = head_of(path, options, _HEAD_BYTES)
        numbers = {mark: len(found.findall(head)) for mark, found in _FOUND.items() if mark.encode() in head}
        mark = max(numbers, key=numbers.__getitem__, default="")
        if mark and numbers[mark] >= _MIN_MARKS:
            return path, mark, numbers[mark]
    return None
