"""Document digests: 64 bits per document, sorted, to find the same documents in another corpus.

The file is specified in docs/formats/digests.md. It takes 8 bytes per document, in memory and on disk.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok import atomic
from slmtok.errors import CorruptFile, WrongFormat
from slmtok.file_content import HEAD_BYTES, is_text
from slmtok.file_kinds import NAMES, kind_of
from slmtok.files import free_name, read_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC = b"SLMDOCS1"
SUFFIX = ".digests"
"""Of the file beside a counts file."""
_TRAILER_BYTES = 40


class DocDigests:
    """Collects the first 64 bits, big-endian, of the sha256 of every document."""

    def __init__(self) -> None:
        self._heads = array("Q")

    def add_heads(self, heads: bytes) -> None:
        """Adds documents by the first 8 bytes of their sha256, one after another."""
        import numpy as np

        self._heads.frombytes(np.frombuffer(heads, dtype=">u8").astype(np.uint64).tobytes())

    def merge(self, other: DocDigests) -> None:
        """Adds the documents of another part of the corpus."""
        self._heads.extend(other._heads)

    def __len__(self) -> int:
        return len(self._heads)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the file atomically. Raises `OutputExists`, `DiskFull`."""
        import numpy as np

        numbers = np.sort(np.frombuffer(self._heads, dtype=np.uint64)).astype("<u8")
        content = MAGIC + numbers.tobytes() + len(numbers).to_bytes(8, "little")
        atomic.write(path, content + hashlib.sha256(content).digest(), force=force)


def load_digests(path: str | os.PathLike[str]) -> NDArray[np.uint64]:
    """The sorted digests in a file, shape (n,), uint64. Raises `MissingInput`, `CorruptFile`."""
    import numpy as np

    name, data = os.fspath(path), read_file(path)
    numbers = np.frombuffer(data[8:-_TRAILER_BYTES], dtype="<u8") if len(data) % 8 == 0 else np.zeros(0, "<u8")
    sound = (
        data.startswith(MAGIC)
        and len(data) >= len(MAGIC) + _TRAILER_BYTES
        and int.from_bytes(data[-_TRAILER_BYTES:-32], "little") == len(numbers)
        and hashlib.sha256(data[:-32]).digest() == data[-32:]
        and bool((numbers[1:] >= numbers[:-1]).all())
    )
    if not sound and (other := NAMES.get(kind_of(data))):
        raise CorruptFile(
            f"{name} is {other}, not one of document digests",
            where=name,
            fix="name one: slmtok count CORPUS --doc-digests writes it beside the counts",
            path=name,
        )
    if not sound and is_text(data[:HEAD_BYTES]):
        counts = free_name(f"{name.removesuffix(Path(name).suffix)}.counts")
        line = f"slmtok count {shlex.quote(name)} --doc-digests -o {shlex.quote(counts)}"
        raise WrongFormat(
            f"{name} is text, not a file of document digests",
            where=name,
            fix=f"{line}, and name {shlex.quote(counts + SUFFIX)}",
            path=name,
        )
    if not sound:
        raise CorruptFile(
            f"{name} is not a sound file of document digests",
            where=name,
            fix="slmtok count CORPUS --doc-digests writes one",
            path=name,
        )
    return numbers.astype(np.uint64)
