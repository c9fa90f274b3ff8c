"""How much of a sample is memorised: its longest substring that also occurs in the training text.

Exact. With the text cut into blocks, every common substring of `2 * BLOCK - 1` characters covers a whole block, so
extending each block that occurs in the sample to both sides finds every such substring. Where there is none, the sample
is searched from each of its positions.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

BLOCK = 16


class Overlap(NamedTuple):
    """A substring of a sample: `length` characters from `start` on."""

    length: int
    start: int


class TextIndex:
    """A text, indexed once for several samples. Takes about five times the memory of the text."""

    def __init__(self, text: str, *, block: int = BLOCK) -> None:
        self.text, self._block = text, block
        self._blocks: defaultdict[str, list[int]] = defaultdict(list)
        for place in range(0, len(text) - block + 1, block):
            self._blocks[text[place : place + block]].append(place)

    def longest(self, sample: str) -> Overlap:
        """The longest substring of `sample` in the text; of several the first."""
        block, best = self._block, Overlap(0, 0)
        for at in range(len(sample) - block + 1):
            # Less than one block precedes the first block of a substring, so the rest of it must match at once.
            rest = sample[at : at + max(block, best.length - block + 1)]
            for place in self._blocks.get(sample[at : at + block], ()):
                if not self.text.startswith(rest, place):
                    continue
                found = self._extend(sample, at, place)
                if (-found.length, found.start) < (-best.length, best.start):
                    best = found
        return best if best.length >= 2 * block - 1 else self._search(sample)

    def _extend(self, sample: str, at: int, place: int) -> Overlap:
        text, before, after = self.text, 0, self._block
        while before < min(at, place) and sample[at - before - 1] == text[place - before - 1]:
            before += 1
        while at + after < len(sample) and text[place + after : place + after + 1] == sample[at + after]:
            after += 1
        return Overlap(before + after, at - before)

    def _search(self, sample: str) -> Overlap:
        """Every start in turn, looking for substrings longer than the longest so far."""
        best = Overlap(0, 0)
        for start in range(len(sample)):
            while (stop := start + best.length + 1) <= len(sample) and sample[start:stop] in self.text:
                best = Overlap(best.length + 1, start)
        return best
