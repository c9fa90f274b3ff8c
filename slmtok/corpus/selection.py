"""Which documents of a corpus are read, and how much of each: sampling by hash, a cap on each, limits on the whole.

The order is fixed: sampling looks at the whole document, then the cap shortens it, then the limits end the corpus.
Characters are counted as bytes that do not continue one, so the length of any byte string is defined.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmtok.corpus.options import ReadOptions

_CONTINUING = bytes(range(0x80, 0xC0))
_PART = 1 << 16


@dataclass
class Skipped:
    """Counts what reading left out or shortened because it was asked to."""

    records: int = 0
    """Malformed records."""
    sampled: int = 0
    """Documents that `sample` left out."""
    capped: int = 0
    """Documents that `doc_cap` shortened."""
    capped_bytes: int = 0
    ended: bool = False
    """Whether `max_docs`, `max_bytes` or `max_chars` ended the corpus before its end."""


@dataclass
class Selection:
    """One pass over a corpus: what `options` leave of it. `whole` never cuts a document for the sake of a limit."""

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
        """Whether no further document will be taken."""
        return 0 in (self.docs_left, self.chars_left, self.bytes_left)

    def admit(self, text: bytes) -> bytes | None:
        """What is taken of a document; None where it is left out. Once it is `full`, the corpus has ended."""
        options = self.options
        if options.sample is not None and not in_sample(text, options.sample, options.seed):
            self.skipped.sampled += 1
            return None
        kept = text
        if options.doc_cap is not None:
            kept = text[: prefix_of_chars(text, options.doc_cap)]
            self.skipped.capped += len(kept) < len(text)
            self.skipped.capped_bytes += len(text) - len(kept)
        return self._limited(kept)

    def _limited(self, document: bytes) -> bytes:
        """As much of a document as the limits on the whole corpus allow, and their state after it."""
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
            # A character that does not fit ends the corpus: what is left is not kept for a smaller one.
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
    """Characters: bytes that do not continue one."""
    return len(text.translate(None, _CONTINUING))


def prefix_of_chars(text: bytes, most: int) -> int:
    """Length in bytes of the first `most` characters."""
    if len(text) <= most:
        return len(text)
    at, left = 0, most
    while at < len(text):
        part = text[at : at + _PART]
        here = chars(part)
        if here > left:
            return at + _within(part, left)
        at, left = at + len(part), left - here
    return len(text)


def _within(part: bytes, most: int) -> int:
    """Length of the longest prefix with `most` characters, where `part` has more."""
    low, high = most, len(part)
    while low < high:
        middle = (low + high + 1) // 2
        if chars(part[:middle]) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def prefix_of_bytes(text: bytes, most: int) -> int:
    """At most `most` bytes, without cutting a character."""
    if most >= len(text):
        return len(text)
    at = most
    for _ in range(3):
        if at > 0 and text[at] & 0xC0 == 0x80:
            at -= 1
    return at
