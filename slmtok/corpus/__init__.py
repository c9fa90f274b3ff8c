"""Corpora: paths to documents. A document is a file, a line or a record; it is bytes, and no merge crosses its ends.

`find` turns files, folders and globs into a sorted list of sources, `read` gives their documents, each with its source,
its number and its domain, and `batches` the same in the engine's own batches; `ReadOptions` says how and how much.
`READERS` has one entry for each format. Nothing here splits, counts or encodes.
"""

from __future__ import annotations

from slmtok.corpus.batching import Batch, Start, batches, engine_reader
from slmtok.corpus.options import MoreReading, ReadOptions
from slmtok.corpus.paths import STDIN, expand
from slmtok.corpus.readers import FORMATS, READERS, check_fields, documents, reader_for
from slmtok.corpus.reading import CorpusDocument, Sources, find, read
from slmtok.corpus.selection import Skipped

__all__ = [
    "FORMATS",
    "READERS",
    "STDIN",
    "Batch",
    "CorpusDocument",
    "MoreReading",
    "ReadOptions",
    "Skipped",
    "Sources",
    "Start",
    "batches",
    "check_fields",
    "documents",
    "engine_reader",
    "expand",
    "find",
    "read",
    "reader_for",
]
