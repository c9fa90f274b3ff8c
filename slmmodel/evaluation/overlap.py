"""How much of a sample was learned by heart: its longest stretch that stands in a text, too, to the character.

Exact. Every stretch of `2 * BLOCK - 1` characters covers a whole block of the text, if that is cut into blocks; so the
places where a block of the text begins in the sample, grown to both sides, find every longer stretch. Where that finds
none, the sample is searched for stretches one by one.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

BLOCK = 16


class Overlap(NamedTuple):
    """A stretch of a sample that stands in a text: `length` characters from `start` of the sample on."""

    length: int
    start: int


class Known:
    """A text, indexed once to look up several samples. Takes about five times the memory of the text."""

    def __init__(self, text: str, *, block: int = BLOCK) -> None:
        self.text, self._block = text, block
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place in range(0, len(text) - block + 1, block):
            self._places[text[place : place + block]].append(place)

    def longest(self, sample: str) -> Overlap:
        """The longest stretch of `sample` in the text; of several the first."""
        block, best = self._block, Overlap(0, 0)
        for at in range(len(sample) - block + 1):
            # The first block of a stretch has less than a block before it, so the rest of it must match at once.
            rest = sample[at : at + max(block, best.length - block + 1)]
            for place in self._places.get(sample[at : at + block], ()):
                if not self.text.startswith(rest, place):
                    continue
                found = self._grown(sample, at, place)
                if (-found.length, found.start) < (-best.length, best.start):
                    best = found
        return best if best.length >= 2 * block - 1 else self._plain(sample)

    def _grown(self, sample: str, at: int, place: int) -> Overlap:
        text, before, after = self.text, 0, self._block
        while before < min(at, place) and sample[at - before - 1] == text[place - before - 1]:
            before += 1
        while at + after < len(sample) and text[place + after : place + after + 1] == sample[at + after]:
            after += 1
        return Overlap(before + after, at - before)

    def _plain(self, sample: str) -> Overlap:
        """Every beginning in turn, looking for stretches that are longer than the longest so far."""
        best = Overlap(0, 0)
        for start in range(len(sample)):
            while (stop := start + best.length + 1) <= len(sample) and sample[start:stop] in self.text:
                best = Overlap(best.length + 1, start)
        return best
