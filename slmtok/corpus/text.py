"""Format `text`: one file is one document, whatever its bytes are.

When to pick it: books, source files, web pages, one to a file. Price: a compressed file is unpacked in memory as a
whole. Promise: every byte of the file is in the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from slmtok.corpus.readers import ReadOptions, Skipped


def read(stream: BinaryIO, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The whole stream."""
    yield stream.read()
