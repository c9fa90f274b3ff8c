"""Reading other people's layouts as documents: cut at their delimiter, raw bytes added up from the ids.

Such files know neither documents nor raw bytes: both are found from the ids, so the bytes are *derived*, and are right
only where the tokenizer loses nothing and no delimiter stands inside a document.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import InvalidOption, MissingInput, unknown_name
from slmtok.shards.borders import Cut, borders
from slmtok.shards.header import FRAMES
from slmtok.shards.layouts import LAYOUTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def documents(
    path: str | os.PathLike[str],
    layout: str,
    *,
    frame: str,
    bos: int,
    eos: int,
    byte_lengths: NDArray[np.uint32],
    wide: bool = False,
) -> Iterator[tuple[NDArray[Any], int]]:
    """(ids with their frame, raw bytes) of each document of one file of a layout.

    wide: whether ids have four bytes where the file doesn't tell. What lies before the first `bos`, or follows the last
    `eos` of the frame `eos`, is a document too.
    Raises `MissingInput`, `CorruptFile`, `InvalidOption` for the frame `none`.
    """
    import numpy as np

    if layout not in LAYOUTS:
        raise unknown_name("layout", layout, LAYOUTS)
    if not Path(path).is_file():
        raise MissingInput(f"no file {str(path)!r}", where="the token file", fix="check the name", path=str(path))
    begin, end = FRAMES[frame]
    if not (begin or end):
        raise InvalidOption(
            "documents without a frame cannot be told apart", fix="frame='eos', or 'bos'", option="frame"
        )
    ids = LAYOUTS[layout].read(Path(path), wide).ids
    for first, last in pairwise(borders(ids, Cut(bos if begin else eos, begins=begin)).tolist()):
        row = ids[first:last]
        yield row, int(byte_lengths[row].sum(dtype=np.uint64))
