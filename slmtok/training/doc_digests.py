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
from slmtok.errors import CorruptFile, SlmtokError, WrongFormat
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
    if not sound:
        raise _not_digests(name, data)
    return numbers.astype(np.uint64)


def _not_digests(name: str, data: bytes) -> SlmtokError:
    """The error for a file that is no sound one. The fix names the digests beside counts, else it writes new ones."""
    other, beside, stem = NAMES.get(kind_of(data)), name + SUFFIX, name.removesuffix(SUFFIX)
    is_corpus = other is None and is_text(data[:HEAD_BYTES])
    counts = free_name(f"{stem.removesuffix(Path(stem).suffix)}.counts")
    line = f"slmtok count {shlex.quote(name) if is_corpus else 'CORPUS'} --doc-digests -o {shlex.quote(counts)}"
    fix = f"{line} # and name {shlex.quote(counts + SUFFIX)}"
    if os.path.isfile(beside):  # noqa: PTH113
        fix = f"name the digests beside it: {shlex.quote(beside)}"
    if is_corpus:
        return WrongFormat(f"{name} is text, not a file of document digests", where=name, fix=fix, path=name)
    fact = f"is {other}, not one of document digests" if other else "is not a sound file of document digests"
    return CorruptFile(f"{name} {fact}", where=name, fix=fix, path=name)
