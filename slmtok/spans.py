"""Where the text of each id begins and ends, in bytes and in characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids


def byte_spans(ids: Ids, lengths: NDArray[np.uint32]) -> NDArray[np.int64]:
    """(start, end) of each id in bytes, shape (n, 2), int64, from the byte length of every id of the vocabulary."""
    import numpy as np

    spans = np.zeros((len(ids), 2), dtype=np.int64)
    np.cumsum(lengths[ids], dtype=np.int64, out=spans[:, 1])
    spans[1:, 0] = spans[:-1, 1]
    return spans


def char_spans(spans: NDArray[np.int64], data: bytes) -> NDArray[np.int64]:
    """Byte spans as spans in characters of `data`, shape (n, 2), int64.

    A position inside a character counts as the character's start, so spans still tile the text: of the tokens that
    share a character, the last one has it. A byte outside well-formed UTF-8 is one character, as in Python's
    `surrogateescape`.
    """
    import numpy as np

    points = np.frombuffer(
        data.decode("utf-8", "surrogateescape").encode("utf-32-le", "surrogatepass"), dtype=np.dtype("<u4")
    )
    widths = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    widths[(points >= 0xDC80) & (points <= 0xDCFF)] = 1
    complete = np.zeros(len(data) + 1, dtype=np.int64)
    complete[np.cumsum(widths)] = 1
    np.cumsum(complete, out=complete)
    return complete[spans]
