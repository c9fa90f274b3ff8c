"""Digests of documents: 64 bits of each, sorted, by which another corpus can be searched for the same documents.

The file is specified in docs/formats/digests.md. It takes 8 bytes a document, in memory as on disk.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from typing import TYPE_CHECKING

from slmtok import atomic
from slmtok.errors import CorruptFile, MissingInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC = b"SLMDOCS1"
_TAIL = 40


class DocDigests:
    """Collects the first 64 bits, big-endian, of the sha256 of every document."""

    def __init__(self) -> None:
        self._found = array("Q")

    def add(self, digest: bytes) -> None:
        """Takes the sha256 of one document."""
        self._found.append(int.from_bytes(digest[:8], "big"))

    def add_heads(self, heads: bytes) -> None:
        """Takes the first 8 bytes of the sha256 of each of many documents."""
        import numpy as np

        self._found.frombytes(np.frombuffer(heads, dtype=">u8").astype(np.uint64).tobytes())

    def merge(self, other: DocDigests) -> None:
        """Takes all documents of another part of the corpus."""
        self._found.extend(other._found)

    def __len__(self) -> int:
        return len(self._found)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the file whole or not at all. Raises `OutputExists`, `DiskFull`."""
        import numpy as np

        numbers = np.sort(np.frombuffer(self._found, dtype=np.uint64))
        atomic.write(path, encoded(numbers), force=force)


def encoded(numbers: NDArray[np.uint64]) -> bytes:
    """The bytes of a file with these sorted digests."""
    content = MAGIC + numbers.astype("<u8").tobytes() + len(numbers).to_bytes(8, "little")
    return content + hashlib.sha256(content).digest()


def load_digests(path: str | os.PathLike[str]) -> NDArray[np.uint64]:
    """The sorted digests in a file, shape (n,), uint64. Raises `MissingInput`, `CorruptFile`."""
    import numpy as np

    name = os.fspath(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (a path of any kind)
            data = file.read()
    except FileNotFoundError:
        raise MissingInput(f"no file {name!r}", where="digests", fix="check the name", path=name) from None
    numbers = np.frombuffer(data[8:-_TAIL], dtype="<u8") if len(data) % 8 == 0 else np.zeros(0, "<u8")
    sound = (
        data.startswith(MAGIC)
        and len(data) >= len(MAGIC) + _TAIL
        and int.from_bytes(data[-_TAIL:-32], "little") == len(numbers)
        and hashlib.sha256(data[:-32]).digest() == data[-32:]
        and bool((numbers[1:] >= numbers[:-1]).all())
    )
    if not sound:
        raise CorruptFile(
            f"{name} is not a sound file of document digests",
            where=name,
            fix="slmtok count CORPUS --doc-digests writes one",
            path=name,
        )
    return numbers.astype(np.uint64)
