"""Where documents lie in a row of ids that only a special tells apart, as in other people's layouts.

What stands before the first special that begins documents, or behind the last one that ends them, is a document too:
such files are cut wherever they were full, and nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHUNK = 1 << 22


@dataclass(frozen=True)
class Cut:
    """The id that tells documents apart, and whether it begins them rather than ends them."""

    id: int
    begins: bool


def borders(ids: NDArray[Any], cut: Cut | None) -> NDArray[np.int64]:
    """Where each document begins and the last one ends: shape (documents + 1,), int64. None: all is one document."""
    import numpy as np

    found = [np.zeros(1, np.int64)]
    if cut is not None:
        for start in range(0, len(ids), _CHUNK):
            found.append(np.flatnonzero(ids[start : start + _CHUNK] == cut.id) + (start + (not cut.begins)))
    bounds = np.append(np.concatenate(found), len(ids))
    kept: NDArray[np.int64] = bounds[np.append(bounds[1:] > bounds[:-1], True)]
    return kept
