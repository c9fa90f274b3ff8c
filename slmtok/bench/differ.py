"""Where the ids of two engines part: the document, the byte in it, and a few ids of each from there on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHOWN = 5
"""How many ids are told."""


def first_difference(
    ids: NDArray[np.uint32], right: NDArray[np.uint32], lengths: Mapping[int, int], documents: Sequence[str]
) -> dict[str, Any] | None:
    """None where both are equal. `lengths` are the bytes of each id.

    Until they part both stand for the same bytes, so the bytes so far say which document it is.
    """
    import numpy as np

    shared = min(len(ids), len(right))
    if len(ids) == len(right) and bool((ids == right).all()):
        return None
    unequal = np.nonzero(ids[:shared] != right[:shared])[0]
    at = int(unequal[0]) if len(unequal) else shared
    byte = sum(lengths[id] for id in right[:at].tolist())
    number = 0
    while number < len(documents) - 1 and byte >= len(documents[number].encode()):
        byte -= len(documents[number].encode())
        number += 1
    return {
        "id": at,
        "document": number,
        "byte": byte,
        "got": ids[at : at + SHOWN].tolist(),
        "expected": right[at : at + SHOWN].tolist(),
    }


def sentence(difference: Mapping[str, Any]) -> str:
    """The same for people; documents count from 0."""
    got, expected = (" ".join(map(str, difference[key])) for key in ("got", "expected"))
    return f"from byte {difference['byte']} of document {difference['document']} on: {got} where {expected} is right"
