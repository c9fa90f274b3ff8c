"""Format `text`: one file is one document, whatever its bytes are; or what lies between two separators is.

When to pick it: books, source files, web pages, one to a file. Price: as a list of
documents each is held in memory as a whole; training does not, unless the pattern is one that needs it (`whole`, a
regex of your own) and the file is packed. Promise: every byte of the file is in a document, but for the separators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from slmtok.corpus.options import ReadOptions
    from slmtok.corpus.selection import Skipped

_PART = 1 << 20


def read(stream: BinaryIO, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The whole stream."""
    yield stream.read()


def read_separated(stream: BinaryIO, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """What lies between two `options.separator`. One at the end of the file begins no further document."""
    mark = (options.separator or "").encode()
    held = bytearray()
    while part := stream.read(_PART):
        # A separator may begin in what is held and end in the part; what is held has none of its own.
        start = max(len(held) - len(mark) + 1, 0)
        held += part
        begun = 0
        while (end := held.find(mark, start)) >= 0:
            yield bytes(held[begun:end])
            begun = start = end + len(mark)
        del held[:begun]
    if held:
        yield bytes(held)
