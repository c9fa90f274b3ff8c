"""Documents that several parts of a corpus share, found by the `--doc-digests` files beside their counts.

Counts contain no documents, so only these digests show an overlap. Any corpus repeats a few documents; a part whose
documents are all in another part was counted twice. Digests of an earlier run may lie beside newer counts; they are
recognised by the digest of the corpus, which is the sum of the digests of its documents.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.indexing import explains_indexing
from slmtok.training.counts_format import parse_head, read_layout
from slmtok.training.doc_digests import SUFFIX, load_digests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MIN_DOCUMENTS = 2
"""A part with fewer distinct documents may be in another one by chance."""


@explains_indexing
@dataclass(frozen=True)
class Overlap:
    """parts: the number of parts with digests. shared: distinct documents in more than one of them.

    inside: a part and another one that has all its documents, if any. strange: parts whose digests belong to other
    counts, and were not used.
    """

    parts: int
    shared: int
    inside: tuple[str, str] | None
    strange: tuple[str, ...] = ()


def overlap(paths: Sequence[str | os.PathLike[str]]) -> Overlap:
    """The documents that the counts files share. All digests are held in memory, 8 bytes a document.

    Raises `CorruptFile` for digests, and for counts that have some, and what reading these raises.
    """
    import numpy as np

    beside = {
        name: load_digests(name + SUFFIX)
        for name in [os.fspath(path) for path in paths]
        if Path(name + SUFFIX).is_file()
    }
    found = {name: np.unique(digests) for name, digests in beside.items() if _belong(digests, name)}
    strange = tuple(name for name in beside if name not in found)
    if len(found) < 2:
        return Overlap(len(found), 0, None, strange)
    _, occurrences = np.unique(np.concatenate(list(found.values())), return_counts=True)
    inside = (
        (name, other)
        for name, other in permutations(found, 2)
        if len(found[name]) >= _MIN_DOCUMENTS and np.isin(found[name], found[other], assume_unique=True).all()
    )
    return Overlap(len(found), int((occurrences > 1).sum()), next(inside, None), strange)


def _belong(digests: NDArray[np.uint64], counts: str) -> bool:
    """Whether these digests are of the documents of a counts file, as far as its head shows.

    The digest of the corpus is the sum of those of its n documents: its first 64 bits are the sum of theirs, and a
    carry below n from the other bits.
    """
    head = parse_head(read_layout(counts).head, counts)
    if head.corpus_digest is None:
        return True
    carry = (int(head.corpus_digest[:16], 16) - int(digests.sum(dtype="u8"))) % (1 << 64)
    return len(digests) == head.totals.documents and carry < max(len(digests), 1)
