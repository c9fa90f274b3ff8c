"""`TextColumn`: documents end to end in one buffer, as columns of Arrow hold them, without an object for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Documents


@dataclass(frozen=True)
class TextColumn:
    """Documents `data[offsets[i]:offsets[i + 1]]`; `data` may begin before the first and end behind the last.

    skips: for each malformed record that was skipped, the number of documents of the column before it, ascending.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    skips: tuple[int, ...] = ()

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> TextColumn:
        """A copy of these texts."""
        import numpy as np

        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(list(map(len, texts)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(texts) or b"\0", np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def nbytes(self, begin: int, end: int) -> int:
        """Bytes of the documents from `begin` to `end`."""
        return int(self.offsets[end] - self.offsets[begin])

    def part(self, begin: int, end: int) -> TextColumn:
        """The documents from `begin` to `end`, without skips."""
        return TextColumn(self.data, self.offsets[begin : end + 1])

    def end(self, begin: int, max_bytes: int, max_documents: int) -> int:
        """The index behind the document from `begin` on that reaches one of these numbers, at most the last one."""
        import numpy as np

        reached = int(np.searchsorted(self.offsets, self.offsets[begin] + max_bytes))
        return min(max(reached, begin + 1), begin + max_documents, len(self))


def join(parts: Sequence[bytes | TextColumn]) -> Documents:
    """The documents of texts and columns as a batch of the engine."""
    from slmtok._engine import Documents

    columns: list[TextColumn] = []
    for kind, run in groupby(parts, type):
        if kind is TextColumn:
            columns.extend(run)  # type: ignore[arg-type]
            continue
        texts: list[bytes] = list(run)  # type: ignore[arg-type]
        if len(texts) == len(parts):
            return Documents(texts)
        columns.append(TextColumn.of(texts))
    return Documents.from_columns([(column.data, column.offsets) for column in columns])
