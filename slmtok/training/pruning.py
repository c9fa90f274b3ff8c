"""Which tokens of a vocabulary go, leaves first, and what stays of it.

A token that is a part of another one stays until that is gone. A leaf never comes up while the bytes of another token
are encoded, since nothing could be made of it there any more; so taking it out changes the encoding of no token that
stays, and every survivor still encodes to itself. Plain Python over the merges, without the engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from slmtok.specials import FIRST_LEARNED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.vocabulary import Merge, Vocabulary


class Plan:
    """What goes and what stays: each token knows how many others are made of it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.gone: set[int] = set()
        self._silent = {index: merge for index, merge in enumerate(vocabulary.merges) if len(merge) == 3}
        self._parts: dict[int, Merge] = {}
        self._needed = [0] * vocabulary.n_vocab
        fresh = FIRST_LEARNED
        for merge in vocabulary.merges:
            for part in set(merge[:2]):
                self._needed[part] += 1
            if len(merge) == 2:
                self._parts[fresh] = merge
                fresh += 1

    def _remove(self, id: int) -> tuple[int, ...]:
        """Takes out a leaf and gives its parts."""
        self.gone.add(id)
        parts = tuple(self._parts.get(id, ()))
        for part in set(parts):
            self._needed[part] -= 1
        return parts

    def remove(self, wanted: set[int]) -> None:
        """Takes out all of `wanted` that nothing which stays is made of."""
        # Parts come before wholes, so one pass from the end sees every whole before its parts.
        for id in sorted(wanted, reverse=True):
            if not self._needed[id]:
                self._remove(id)

    def shrink(self, used: list[int], size: int) -> None:
        """Takes out the least used leaf, of equals the youngest, until `size` ids are left."""
        leaves = [(used[id], -id) for id in range(FIRST_LEARNED, len(used)) if not self._needed[id]]
        heapify(leaves)
        left = len(used)
        while left > size:
            if not leaves:
                self._free(leaves, used, self._drop_silent())
                continue
            number, minus = heappop(leaves)
            if used[-minus] != number:
                heappush(leaves, (used[-minus], minus))
                continue
            left -= 1
            parts = self._remove(-minus)
            for part in parts:
                used[part] += number
            self._free(leaves, used, parts)

    def _free(self, leaves: list[tuple[int, int]], used: list[int], parts: Iterable[int]) -> None:
        """Makes leaves of parts that nothing is made of any more."""
        for part in set(parts):
            if part >= FIRST_LEARNED and not self._needed[part]:
                heappush(leaves, (used[part], -part))

    def _drop_silent(self) -> tuple[int, ...]:
        """Takes out the last merge that has the id of a special, and gives its parts: it holds others without need."""
        merge = self._silent.pop(max(self._silent))
        for part in set(merge[:2]):
            self._needed[part] -= 1
        return merge[:2]

    def outcome(self) -> tuple[Vocabulary, NDArray[np.int64]]:
        """The smaller vocabulary, and the map of ids."""
        import numpy as np

        stay = np.array([id not in self.gone for id in range(self.vocabulary.n_vocab)])
        id_map = np.where(stay, np.cumsum(stay) - 1, -1).astype(np.int64)
        if self.vocabulary.scheme != "bpe":
            tokens = tuple(
                token for id, token in enumerate(self.vocabulary.tokens, FIRST_LEARNED) if id not in self.gone
            )
            return replace(self.vocabulary, tokens=tokens), id_map
        merges: list[Merge] = []
        fresh = FIRST_LEARNED
        for index, merge in enumerate(self.vocabulary.merges):
            stays = index in self._silent if len(merge) == 3 else fresh not in self.gone
            if stays:
                merges.append(tuple(int(id_map[id]) for id in merge))
            fresh += len(merge) == 2
        return replace(self.vocabulary, merges=tuple(merges)), id_map
