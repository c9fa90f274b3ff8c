"""One shard while it is being written: documents are appended to its `.tmp` files, and closing it renames them.

What is on disk may run ahead of what the journal knows: a run that goes on cuts the files back to the journal's
numbers. Every fault of the disk is an `OSError`, which the caller explains.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from slmtok.files import file_digest
from slmtok.shards.header import HEADER_BYTES, PART, Header, corrupt, shard_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Totals:
    """What a shard holds. `digest` is the sum modulo 2^256 of the sha256 of its documents."""

    tokens: int = 0
    docs: int = 0
    bytes: int = 0
    digest: int = 0

    def plus(self, other: Totals) -> Totals:
        """Both together."""
        return Totals(
            self.tokens + other.tokens,
            self.docs + other.docs,
            self.bytes + other.bytes,
            (self.digest + other.digest) % (1 << 256),
        )

    def to_json(self) -> dict[str, object]:
        """The digest as 64 hexadecimal digits, all else as numbers."""
        return {**asdict(self), "digest": f"{self.digest:064x}"}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Totals:
        """The inverse of `to_json`."""
        return cls(content["tokens"], content["docs"], content["bytes"], int(content["digest"], 16))


@dataclass(frozen=True)
class Documents:
    """Documents on their way into a shard: their ids in one row, and for each its length in ids and in raw bytes."""

    ids: list[NDArray[Any]]
    lengths: NDArray[np.int64]
    nbytes: NDArray[np.uint64]
    digest: int
    domains: NDArray[np.uint16] | None = None


class OpenShard:
    """The shard number `shard` of a split, in the folder of the run."""

    def __init__(self, folder: Path, split: str, shard: int, *, id_bytes: int, domains: bool) -> None:
        """A new shard, with nothing in it."""
        self.split, self.shard = split, shard
        self.totals = Totals()
        self._folder = folder
        self._id_bytes = id_bytes
        self._endings = ("bin", "off", "nb", *(("dom",) if domains else ()))
        self._files: dict[str, IO[bytes]] = {}

    @property
    def name(self) -> str:
        """`train-00000`."""
        return shard_name(self.split, self.shard)

    def path(self, ending: str, part: str = PART) -> Path:
        """One of its files, unfinished unless `part` is empty."""
        return self._folder / f"{self.name}.{ending}{part}"

    def open(self) -> None:
        """Creates the files, empty but for the room of the header and the first offset."""
        self._files = {ending: self.path(ending).open("wb") for ending in self._endings}
        self._files["bin"].write(b"\0" * HEADER_BYTES)
        self._files["off"].write(b"\0" * 8)

    def reopen(self, totals: Totals) -> None:
        """Goes on with what an earlier run left, cut back to `totals`. Raises `CorruptShard` where less is there."""
        for ending in self._endings:
            part, whole = self.path(ending), self.path(ending, "")
            if not part.exists() and whole.exists():
                whole.rename(part)
            file = part.open("r+b") if part.exists() else None
            size = self._size(ending, totals)
            if file is not None:
                self._files[ending] = file
            if file is None or os.fstat(file.fileno()).st_size < size:
                raise corrupt(str(part), "it is shorter than the journal says", fix="force=True starts again")
            file.truncate(size)
            file.seek(size)
        self.totals = totals

    def _size(self, ending: str, totals: Totals) -> int:
        sizes = {
            "bin": HEADER_BYTES + totals.tokens * self._id_bytes,
            "off": 8 * (totals.docs + 1),
            "nb": 8 * totals.docs,
            "dom": 2 * totals.docs,
        }
        return sizes[ending]

    def append(self, documents: Documents) -> None:
        """Adds documents behind the others."""
        import numpy as np

        if not self._files:
            self.open()
        ends = np.cumsum(documents.lengths, dtype="<u8") + np.uint64(self.totals.tokens)
        for row in documents.ids:
            self._files["bin"].write(np.ascontiguousarray(row).data)
        self._files["off"].write(ends.data)
        self._files["nb"].write(documents.nbytes.astype("<u8", copy=False).data)
        if "dom" in self._files and documents.domains is not None:
            self._files["dom"].write(documents.domains.astype("<u2", copy=False).data)
        added = Totals(
            int(documents.lengths.sum()), len(documents.lengths), int(documents.nbytes.sum()), documents.digest
        )
        self.totals = self.totals.plus(added)

    def flush(self) -> list[int]:
        """Hands everything to the system; the descriptors that an fsync still needs."""
        begun = [file for file in self._files.values() if not file.closed]
        for file in begun:
            file.flush()
        return [file.fileno() for file in begun]

    def close(self, header: Header) -> dict[str, object]:
        """Writes the header, syncs and renames the files; what the manifest says of the shard."""
        header = replace(
            header,
            n_tokens=self.totals.tokens,
            n_docs=self.totals.docs,
            n_bytes=self.totals.bytes,
            shard=self.shard,
        )
        self._files["bin"].seek(0)
        self._files["bin"].write(header.to_bytes())
        digests: dict[str, str] = {}
        for ending, file in self._files.items():
            file.flush()
            os.fsync(file.fileno())
            file.close()
            digests[ending] = file_digest(self.path(ending))
        for ending in self._endings:
            self.path(ending).rename(self.path(ending, ""))
        self._files = {}
        return {"name": self.name, "split": self.split, "sha256": digests, **self.totals.to_json()}

    def drop(self) -> None:
        """Closes the files and leaves them as they are."""
        for file in self._files.values():
            try:
                file.close()
            except OSError:
                # What could not be written is not in the journal either.
                continue
        self._files = {}
