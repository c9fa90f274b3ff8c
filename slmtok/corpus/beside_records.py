"""A few files beside records, such as README.md, LICENSE and dataset_infos.json of a data set, which are read as text.

Text of a corpus is called .txt, or has many files, or is larger than the records: such a corpus is meant to be mixed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slmtok.corpus.formats import format_of
from slmtok.corpus.paths import HUGGING_FACE, STDIN
from slmtok.corpus.reading import documents
from slmtok.corpus.streams import bare_suffix, read_document
from slmtok.corpus.suffixes import SUFFIXES
from slmtok.errors import Setting, SlmtokError
from slmtok.options import ReadOptions
from slmtok.sizes import counted

_MAX_SOURCES = 4096
"""Whose formats take some milliseconds to tell."""
_MAX_BESIDE = 8
_MAX_JSON_BYTES = 1 << 17
"""A file of JSON that is read to tell whether it holds records; a larger one is data."""
_TEXT_SUFFIXES = (".txt", ".text", *SUFFIXES["lines"])


class BesideRecords(NamedTuple):
    """fact: which files were read as text beside which records. globs: of the files, to leave `them` out."""

    fact: str
    globs: tuple[str, ...]
    them: str

    @property
    def exclude(self) -> Setting:
        """The option that leaves them out."""
        return Setting("exclude", self.globs if len(self.globs) > 1 else self.globs[0])


def beside_records(sources: Sequence[str], options: ReadOptions) -> BesideRecords | None:
    """The files of a folder of records that are read as one document each; None where such files are meant."""
    if options.format != "auto":
        return None
    named = getattr(sources, "named", ())
    records, others = list[str](), list[str]()
    for path in sources[:_MAX_SOURCES]:
        if path == STDIN or path.startswith(HUGGING_FACE):
            continue
        kind = format_of(path, options)
        if kind.name != "json" and kind.records:
            records.append(path)
        elif path not in named and (kind.name == "json" or bare_suffix(path) not in _TEXT_SUFFIXES):
            others.append(path)
            if len(others) > _MAX_BESIDE:
                return None
    try:
        sizes = {path: os.path.getsize(path) for path in (*records, *others)} if others else {}  # noqa: PTH202  (speed)
    except OSError:
        # The reader of the file says so.
        return None
    beside = [path for path in others if _is_whole(path, sizes[path], options)]
    records += [path for path in others if path not in beside]
    if not beside or sum(map(sizes.__getitem__, beside)) >= sum(map(sizes.__getitem__, records)):
        return None
    more = f" and {counted(len(beside) - 1, 'more file')}" if len(beside) > 1 else ""
    globs = tuple(dict.fromkeys(Path(path).name for path in beside))
    return BesideRecords(
        f"{beside[0]}{more} beside the records of {records[0]} {'were' if more else 'was'} read as text",
        globs,
        "them" if more else "it",
    )


def is_text(source: str, options: ReadOptions) -> bool:
    """Whether a file of JSON is read as text, whatever the field, because it holds one object that is no record."""
    if format_of(source, options).name != "json":
        return False
    try:
        text = next(documents([source], options), None)
        return text is not None and text == read_document(source, options)
    except SlmtokError:
        return False


def _is_whole(path: str, size: int, options: ReadOptions) -> bool:
    """Whether a file is read as one document; JSON may have records."""
    kind = format_of(path, options)
    return kind.engine == "text" or (kind.name == "json" and size <= _MAX_JSON_BYTES and is_text(path, options))
