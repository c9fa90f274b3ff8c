"""Corpora: paths to documents. A document is a file, a line or a record; it is bytes, and no merge crosses its ends.

`find` turns files, folders and globs into a list of sources, `read` gives their documents one by one, `Corpus` gives
them in batches for bulk work; `ReadOptions` says how and how much. `FORMATS` has one entry for each format. Nothing
here splits text, counts or encodes.
"""

from __future__ import annotations

from slmtok.corpus.batches import Batch, Corpus, Position
from slmtok.corpus.formats import FORMAT_NAMES, FORMATS, check_fields, format_of
from slmtok.corpus.paths import STDIN, expand
from slmtok.corpus.reading import CorpusDocument, Sources, documents, find, open_reader, read
from slmtok.corpus.selection import Skipped

__all__ = [
    "FORMATS",
    "FORMAT_NAMES",
    "STDIN",
    "Batch",
    "Corpus",
    "CorpusDocument",
    "Position",
    "Skipped",
    "Sources",
    "check_fields",
    "documents",
    "expand",
    "find",
    "format_of",
    "open_reader",
    "read",
]
