"""Format `lines`: each line of a file is one document, without its line feed.

When to pick it: sentence lists, parallel corpora, logs. Price: none. Promise: every byte but the line feeds is in a
document; a line feed at the end of the file begins no further line; empty lines are empty documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from slmtok.corpus.options import ReadOptions
    from slmtok.corpus.selection import Skipped


def read(stream: BinaryIO, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The lines of the stream."""
    for line in stream:
        yield line[:-1] if line.endswith(b"\n") else line
