"""Texts in memory as a corpus: checked and encoded as UTF-8 one by one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from slmtok.calls import explains_calls
from slmtok.checks import refuse_table
from slmtok.corpus import Skipped
from slmtok.corpus.selection import Selection
from slmtok.errors import InvalidText, WrongType
from slmtok.options import ReadOptions

_MANY_TEXTS = "a list or an iterator of str or bytes"


@explains_calls
class Texts:
    """Marks an iterable as the documents themselves (each `str` or `bytes`), where a list would mean paths."""

    def __init__(self, texts: Iterable[str | bytes]) -> None:
        """Raises `WrongType` for a single text and for what is not iterable."""
        if isinstance(texts, (str, bytes, bytearray, memoryview)):
            raise WrongType("Texts takes many texts, this is one", fix="slmtok.Texts([text])")
        refuse_table(texts)
        if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
            raise WrongType(
                f"Texts takes many texts, not {type(texts).__name__}", limit=_MANY_TEXTS, fix="slmtok.Texts([text])"
            )
        self.texts = texts

    def __iter__(self) -> Iterator[str | bytes]:
        return iter(self.texts)


def require_texts(corpus: object) -> Iterable[object]:
    """`corpus` as an iterable of texts. Raises `WrongType`."""
    if isinstance(corpus, (bytes, bytearray, memoryview)):
        raise WrongType(
            f"a corpus is many texts, this is one {type(corpus).__name__}", fix="slmtok.Texts([text]) for one text"
        )
    refuse_table(corpus)
    if isinstance(corpus, Mapping) or not isinstance(corpus, Iterable):
        raise WrongType(
            f"a corpus cannot be {type(corpus).__name__}",
            limit="a path, a list of paths, or an iterable of texts",
            fix="slmtok.Texts(texts)",
        )
    return corpus


_MEANT: tuple[tuple[Any, str], ...] = (
    (os.PathLike, "pass a list of paths, not an iterator"),
    (Mapping, "slmtok.Texts(record['text'] for record in records)"),
    ((list, tuple), "slmtok.Texts(text for row in rows for text in row)"),
)
"""What stands where a text belongs, and the remedy."""


def encode_texts(texts: Iterable[object]) -> Iterator[bytes]:
    """Each text as bytes. Raises `InvalidText`, `WrongType`."""
    for index, text in enumerate(texts):
        if isinstance(text, str):
            try:
                yield text.encode()
            except UnicodeEncodeError as error:
                raise InvalidText(
                    f"text {index} has a lone surrogate U+{ord(text[error.start]):04X}",
                    where=f"character {error.start} of text {index}",
                    fix="text.encode('utf-8', 'surrogatepass') or 'replace', whichever fits the data",
                    index=error.start,
                    document=index,
                ) from None
        elif isinstance(text, (bytes, bytearray, memoryview)):
            yield bytes(text)
        else:
            fix = next((fix for kind, fix in _MEANT if isinstance(text, kind)), "leave it out")
            raise WrongType(f"text {index} is {type(text).__name__}, not str or bytes", fix=fix)


def select_texts(texts: Iterator[bytes], options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The documents that the options select."""
    selection = Selection(options, skipped)
    for text in texts:
        kept = selection.take(text)
        if kept is not None:
            yield kept
        if selection.full:
            return
