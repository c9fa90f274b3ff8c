"""Selecting documents: sampling by hash, truncation of each document, limits on the whole corpus.

The order is fixed: sampling hashes the whole document, then the document is truncated, then the limits end the corpus.
A character is a byte that is not a UTF-8 continuation byte, so every byte string has a length in characters.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slmtok.indexing import explains_indexing

if TYPE_CHECKING:
    from slmtok.options import ReadOptions

_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))
_BLOCK_BYTES = 1 << 16


@explains_indexing
@dataclass
class Skipped:
    """Counts what reading skipped or truncated on request."""

    records: int = 0
    """Malformed records."""
    sampled: int = 0
    """Documents outside of `sample`."""
    capped: int = 0
    """Documents that `max_doc_chars` shortened."""
    capped_bytes: int = 0
    ended: bool = False
    """Whether `max_docs`, `max_bytes` or `max_chars` ended the corpus before its end."""

    def add(self, other: Skipped) -> None:
        """Adds the counts of another part of the corpus."""
        self.records += other.records
        self.sampled += other.sampled
        self.capped += other.capped
        self.capped_bytes += other.capped_bytes
        self.ended |= other.ended

    def take(self) -> Skipped:
        """The counts so far; they begin again at zero."""
        taken = replace(self)
        self.records = self.sampled = self.capped = self.capped_bytes = 0
        self.ended = False
        return taken


@dataclass
class Selection:
    """One pass over a corpus under `options`. whole: a limit on the corpus never cuts a document."""

    options: ReadOptions
    skipped: Skipped
    whole: bool = False
    docs_left: int | None = field(init=False)
    chars_left: int | None = field(init=False)
    bytes_left: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.docs_left = self.options.max_docs
        self.chars_left = self.options.max_chars
        self.bytes_left = self.options.max_bytes

    @property
    def full(self) -> bool:
        """Whether a limit on the corpus is reached."""
        return 0 in (self.docs_left, self.chars_left, self.bytes_left)

    def take(self, text: bytes) -> bytes | None:
        """The selected part of a document; None outside of the sample. Once `full` is true, the corpus has ended."""
        options = self.options
        if options.sample is not None and not in_sample(text, options.sample, options.seed):
            self.skipped.sampled += 1
            return None
        kept = text
        if options.max_doc_chars is not None:
            kept = text[: prefix_of_chars(text, options.max_doc_chars)]
            self.skipped.capped += len(kept) < len(text)
            self.skipped.capped_bytes += len(text) - len(kept)
        return self._limited(kept)

    def _limited(self, document: bytes) -> bytes:
        """The part of a document that the limits on the corpus allow; updates the limits."""
        kept = document
        if self.chars_left is not None and not self.whole:
            kept = kept[: prefix_of_chars(kept, self.chars_left)]
        if self.bytes_left is not None and not self.whole:
            kept = kept[: prefix_of_bytes(kept, self.bytes_left)]
        if self.docs_left is not None:
            self.docs_left -= 1
        if self.chars_left is not None:
            self.chars_left = max(self.chars_left - chars(kept), 0)
        if self.bytes_left is not None:
            # A character that does not fit ends the corpus; the remaining bytes are not used.
            self.bytes_left = 0 if len(kept) < len(document) else max(self.bytes_left - len(kept), 0)
        if self.full:
            self.skipped.ended = True
        return kept


def in_sample(text: bytes, share: float, seed: int) -> bool:
    """Whether the first 64 bits of sha256(seed as 8 bytes, document) are below `share` of 2^64; little-endian."""
    digest = hashlib.sha256(seed.to_bytes(8, "little"))
    digest.update(text)
    return int.from_bytes(digest.digest()[:8], "little") < int(share * (1 << 64))


def chars(text: bytes) -> int:
    """Number of characters."""
    return len(text.translate(None, _CONTINUATION_BYTES))


def prefix_of_chars(text: bytes, most: int) -> int:
    """Length in bytes of the first `most` characters."""
    if len(text) <= most:
        return len(text)
    import numpy as np

    left = most
    for at in range(0, len(text), _BLOCK_BYTES):
        starts = np.flatnonzero(np.frombuffer(text[at : at + _BLOCK_BYTES], np.int8) >= -0x40)
        if len(starts) > left:
            return at + int(starts[left])
        left -= len(starts)
    return len(text)


def prefix_of_bytes(text: bytes, most: int) -> int:
    """Length of the longest prefix of at most `most` bytes that does not cut a character."""
    if most >= len(text):
        return len(text)
    at = most
    for _ in range(3):
        if at > 0 and text[at] & 0xC0 == 0x80:
            at -= 1
    return at
