"""What strings cost two tokenizers: sums by class, and those that one of them spells in more ids.

The sums are exact for a text of any size. Of the strings, `KEPT` are remembered; past so many that differ, those that
weigh least are forgotten, so a string that is rare in every part of a very large text may be missing from the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slmtok.analysis.diff import Cost
from slmtok.analysis.strings import CLASSES

if TYPE_CHECKING:
    from slmtok.analysis.strings import Strings
    from slmtok.tokenizer import Tokenizer

KEPT = 1 << 20


class Paid:
    """Sums and strings so far."""

    def __init__(self, a: Tokenizer, b: Tokenizer, threads: int = 0) -> None:
        self._a, self._b, self._threads = a, b, threads
        self._tokens = [[0] * len(CLASSES), [0] * len(CLASSES)]
        self._bytes = [0] * len(CLASSES)
        self._found: dict[bytes, Cost] = {}

    def add(self, strings: Strings) -> None:
        """Takes strings with their counts, each spelled alone."""
        lengths = [strings.lengths(tokenizer, self._threads) for tokenizer in (self._a, self._b)]
        for index in range(len(CLASSES)):
            chosen = strings.classes == index
            self._bytes[index] += strings.bytes_of_class(index)
            for sums, ids in zip(self._tokens, lengths, strict=True):
                sums[index] += int((ids * strings.counts)[chosen].sum())
        for at in (lengths[0] != lengths[1]).nonzero()[0].tolist():
            string = strings.strings[at]
            before = self._found.get(string)
            count = int(strings.counts[at]) + (before.count if before else 0)
            self._found[string] = Cost(string, count, int(lengths[0][at]), int(lengths[1][at]))
        if len(self._found) > 2 * KEPT:
            heaviest = sorted(self._found.values(), key=lambda cost: (-abs(cost.extra), cost.string))
            self._found = {cost.string: cost for cost in heaviest[:KEPT]}

    def costs(self) -> list[Cost]:
        """Strings spelled in different numbers of ids; what b pays most for first, what a pays most for last."""
        return sorted(self._found.values(), key=lambda cost: (-cost.extra, cost.string))

    def classes(self) -> dict[str, tuple[float, float]]:
        """Bytes per token of each class of strings, (a, b)."""
        rows = zip(CLASSES, self._bytes, *self._tokens, strict=True)
        return {name: (size / a, size / b) for name, size, a, b in rows if a and b}
