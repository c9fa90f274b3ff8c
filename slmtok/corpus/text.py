"""Format `text`: one file is one document, whatever its bytes are.

When to pick it: books, source files, web pages, one to a file. Price: as a list of
documents each is held in memory as a whole; training does not, unless the pattern is one that needs it (`whole`, a
regex of your own) and the file is packed. Promise: every byte of the file is in the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from slmtok.corpus.readers import ReadOptions, Skipped


def read(stream: BinaryIO, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The whole stream."""
    yield stream.read()
