"""A small sample of a corpus, spread over all of it, on which the report measures compression."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slmtok.corpus.streams import open_bytes

if TYPE_CHECKING:
    from slmtok._engine import Documents

CHUNK = 64 << 10


@dataclass
class Sample:
    """An even sample of the documents, about one MiB: every k-th, k doubling as they go on; the heads of long ones."""

    budget: int = 1 << 20
    kept: list[bytes] = field(default_factory=list)
    stride: int = 1
    seen: int = 0
    size: int = 0

    def offer(self, text: bytes) -> None:
        """Takes this document, or not."""
        if self.seen % self.stride == 0:
            head = bytes(text[:CHUNK])
            self.kept.append(head)
            self.size += len(head)
            if self.size > self.budget:
                self.kept = self.kept[::2]
                self.stride *= 2
                self.size = sum(map(len, self.kept))
        self.seen += 1

    def offer_each(self, texts: Documents) -> None:
        """Offers all of them, of which only those that are taken are copied."""
        index = 0
        while index < len(texts):
            passed = min(-self.seen % self.stride, len(texts) - index)
            self.seen += passed
            index += passed
            if index < len(texts):
                self.offer(texts[index])
                index += 1


def stretches(path: str, number: int = 16) -> Iterator[bytes]:
    """Evenly spaced stretches of a file; all of it where it is small."""
    with open_bytes(path) as stream:
        size = stream.seek(0, os.SEEK_END)
        starts = range(0, size, CHUNK) if size <= number * CHUNK else [size // number * part for part in range(number)]
        for start in starts:
            stream.seek(start)
            yield stream.read(CHUNK)
