"""Documents that several parts of a corpus share, as far as `--doc-digests` files beside their counts tell.

Counts hold no documents, so of parts that overlap only these digests can tell. A few shared documents are what any
corpus has; a part whose documents are all in another one was counted twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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

    parts: how many of them had digests, without which nothing is known of a part.
    """

    parts: int
    shared: int
    inside: tuple[str, str] | None


def overlap(paths: Sequence[str | os.PathLike[str]]) -> Overlap:
    """What the parts share. All digests are held in memory, 8 bytes a document. Raises `CorruptFile`."""
    import numpy as np

    names = [name for name in (os.fspath(path) for path in paths) if Path(name + ENDING).is_file()]
    found = [np.unique(load_digests(name + ENDING)) for name in names]
    if len(found) < 2:
        return Overlap(len(found), 0, None)
    together, times = np.unique(np.concatenate(found), return_counts=True)
    repeated = together[times > 1]
    return Overlap(len(found), len(repeated), _inside(names, found, repeated))


def _inside(names: list[str], found: list[NDArray[np.uint64]], repeated: NDArray[np.uint64]) -> tuple[str, str] | None:
    import numpy as np

    for at, mine in enumerate(found):
        if len(mine) < _FEW or not np.isin(mine, repeated, assume_unique=True).all():
            continue
        for other, theirs in enumerate(found):
            if other != at and np.isin(mine, theirs, assume_unique=True).all():
                return names[at], names[other]
    return None
