"""Documents that several parts of a corpus share, as far as `--doc-digests` files beside their counts tell.

Counts hold no documents, so of parts that overlap only these digests can tell. A few shared documents are what any
corpus has; a part whose documents are all in another one was counted twice. Digests that a run before has left beside
counts made anew are told from theirs by the digest of the corpus, a sum of what they are the first bits of.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.training.counts_format import parse_head, read_layout
from slmtok.training.doc_digests import load_digests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENDING = ".digests"
"""What follows the name of a counts file in that of its digests."""
_FEW = 2
"""A part of fewer different documents may be in another one by chance."""


@dataclass(frozen=True)
class Overlap:
    """shared: different documents that are in more than one part. inside: a part, and one that has all its documents.

    parts: how many of them had digests, without which nothing is known of a part. strange: those whose digests are of
    other counts, and were not used.
    """

    parts: int
    shared: int
    inside: tuple[str, str] | None
    strange: tuple[str, ...] = ()


def overlap(paths: Sequence[str | os.PathLike[str]]) -> Overlap:
    """What the parts share. All digests are held in memory, 8 bytes a document.

    Raises `CorruptFile`, for digests and for counts that have some, and what reading these raises.
    """
    import numpy as np

    beside = {
        name: load_digests(name + ENDING)
        for name in [os.fspath(path) for path in paths]
        if Path(name + ENDING).is_file()
    }
    names = [name for name, digests in beside.items() if _belong(digests, name)]
    strange = tuple(name for name in beside if name not in names)
    found = [np.unique(beside[name]) for name in names]
    if len(found) < 2:
        return Overlap(len(found), 0, None, strange)
    together, times = np.unique(np.concatenate(found), return_counts=True)
    repeated = together[times > 1]
    return Overlap(len(found), len(repeated), _inside(names, found, repeated), strange)


def _belong(digests: NDArray[np.uint64], counts: str) -> bool:
    """Whether these are of the documents of a counts file, as far as it tells.

    The digest of the corpus is the sum of those of its n documents: its first 64 bits are the sum of theirs, and less
    than n that the other bits carried over.
    """
    head = parse_head(read_layout(counts).head, counts)
    if head.corpus_digest is None:
        return True
    carried = (int(head.corpus_digest[:16], 16) - int(digests.sum(dtype="u8"))) % (1 << 64)
    return len(digests) == head.totals.documents and carried < max(len(digests), 1)


def _inside(names: list[str], found: list[NDArray[np.uint64]], repeated: NDArray[np.uint64]) -> tuple[str, str] | None:
    import numpy as np

    for at, mine in enumerate(found):
        if len(mine) < _FEW or not np.isin(mine, repeated, assume_unique=True).all():
            continue
        for other, theirs in enumerate(found):
            if other != at and np.isin(mine, theirs, assume_unique=True).all():
                return names[at], names[other]
    return None
