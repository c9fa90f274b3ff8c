"""Corpora: paths to documents. A document is a file, a line or a record; it is bytes, and no merge crosses its ends.

`expand` turns files, folders and globs into a sorted list of paths; `READERS` has one entry for each format;
`documents` reads all of them in order. Nothing here splits, counts or encodes.
"""

from __future__ import annotations

from slmtok.corpus.paths import STDIN, expand
from slmtok.corpus.readers import READERS, ReadOptions, Skipped, check_text_key, documents, reader_for

__all__ = ["READERS", "STDIN", "ReadOptions", "Skipped", "check_text_key", "documents", "expand", "reader_for"]
