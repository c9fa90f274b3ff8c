"""One token shard (docs/formats/shards.md): header, ids, offsets, raw bytes and domains, memory-mapped and checked.

Sizes and sums are checked when a shard is opened; that no id is out of range, and that documents begin and end as the
header says, when its ids are first asked for, once.
"""

from __future__ import annotations

import struct
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.source import Frame
from slmmodel.errors import CorruptShards, MissingShards, UnsupportedShards

MAGIC = b"SLMSHARD"
VERSION = 1
HEADER_BYTES = 4096
NARROW_VOCAB = 65536
FLAG_BOS, FLAG_EOS = 1, 2
_LAYOUT = struct.Struct("<8sIIQQQII32sQ")
_SCAN = 1 << 24


class Header(NamedTuple):
    """The fields of a shard's header."""

    width: int
    n_tokens: int
    n_docs: int
    n_bytes: int
    n_vocab: int
    flags: int
    fingerprint: str
    number: int


def refuse(path: Path, fact: str) -> CorruptShards:
    """The error for a damaged file."""
    return CorruptShards(f"{path.name} {fact}", where=str(path), fix="make the data again: slmtok pack", path=str(path))


def read_header(path: Path) -> Header:
    """Reads and checks a header. Raises `MissingShards`, `CorruptShards`, `UnsupportedShards`."""
    try:
        with path.open("rb") as file:
            data = file.read(HEADER_BYTES)
    except OSError as error:
        raise MissingShards(
            f"cannot read {path.name}: {error.strerror}", where=str(path), fix="make the data again: slmtok pack"
        ) from error
    if len(data) < HEADER_BYTES or data[:8] != MAGIC:
        raise refuse(
            path, f"is no token shard: it does not begin with {MAGIC.decode()} and {HEADER_BYTES} bytes of header"
        )
    _, version, width, tokens, docs, raw, n_vocab, flags, fingerprint, number = _LAYOUT.unpack_from(data)
    if version != VERSION:
        raise UnsupportedShards(
            f"{path.name} has version {version}",
            where=str(path),
            limit=f"this package reads version {VERSION}",
            fix="update slmtok, or make the data again",
        )
    header = Header(width, tokens, docs, raw, n_vocab, flags, fingerprint.hex(), number)
    expected = 2 if header.n_vocab <= NARROW_VOCAB else 4
    if header.width != expected:
        raise refuse(path, f"has {header.width} bytes an id; n_vocab {header.n_vocab} takes {expected}")
    if header.flags & ~(FLAG_BOS | FLAG_EOS):
        raise refuse(path, f"has unknown flags {header.flags:#x}")
    if any(data[_LAYOUT.size :]):
        raise refuse(
            path, f"has something behind the fields of its header (bytes {_LAYOUT.size} to {HEADER_BYTES - 1})"
        )
    return header


def mapped(path: Path, dtype: str, count: int, offset: int = 0) -> NDArray[Any]:
    """`count` numbers of a file from `offset` on, as a map; the file must end there."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise MissingShards(
            f"cannot read {path.name}: {error.strerror}", where=str(path), fix="make the data again: slmtok pack"
        ) from error
    expected = offset + count * np.dtype(dtype).itemsize
    if size != expected:
        raise refuse(path, f"has {size:,} bytes, not {expected:,}")
    if not count:
        return np.empty(0, dtype)
    # A plain array over the map: slices of `memmap` itself cost several times as much.
    return np.asarray(np.memmap(path, dtype, "r", offset, (count,)))


class Shard:
    """One shard, open for reading."""

    def __init__(self, path: Path, frame: Frame) -> None:
        self.path, self.frame = path, frame
        self.header = header = read_header(path)
        self._ids = mapped(path, f"<u{header.width}", header.n_tokens, HEADER_BYTES)
        self.offsets = mapped(path.with_suffix(".off"), "<u8", header.n_docs + 1)
        self.raw_bytes = mapped(path.with_suffix(".nb"), "<u8", header.n_docs)
        domains = path.with_suffix(".dom")
        self.domains = mapped(domains, "<u2", header.n_docs) if domains.exists() else None
        self._check_tables()
        self._checked = False
        self._lock = threading.Lock()

    def _check_tables(self) -> None:
        header, path = self.header, self.path
        if int(self.offsets[0]) != 0 or int(self.offsets[-1]) != header.n_tokens:
            raise refuse(path.with_suffix(".off"), f"does not run from 0 to n_tokens {header.n_tokens}")
        least = int(self.frame.stores_opening) + int(self.frame.stores_closing)
        if header.n_docs and bool((self.offsets[1:] < self.offsets[:-1] + np.uint64(least)).any()):
            doc = int((self.offsets[1:] < self.offsets[:-1] + np.uint64(least)).argmax())
            raise refuse(path.with_suffix(".off"), f"gives document {doc} fewer than {least} ids")
        total = int(self.raw_bytes.sum(dtype=np.uint64))
        if total != header.n_bytes:
            raise refuse(path.with_suffix(".nb"), f"adds up to {total:,} bytes; the header says {header.n_bytes:,}")

    def stored_lengths(self) -> NDArray[np.int64]:
        """Stored ids of each document: int64 [n_docs]."""
        offsets: NDArray[np.int64] = self.offsets.view(np.int64)
        return offsets[1:] - offsets[:-1]

    def stored(self) -> NDArray[Any]:
        """All ids of the shard, checked once."""
        if not self._checked:
            with self._lock:
                if not self._checked:
                    self._check_ids()
                    self._checked = True
        return self._ids

    def _check_ids(self) -> None:
        """`max(id) < n_vocab`, and the delimiters that the header promises."""
        for start in range(0, len(self._ids), _SCAN):
            part = self._ids[start : start + _SCAN]
            if int(part.max()) >= self.header.n_vocab:
                at = start + int((part >= self.header.n_vocab).argmax())
                raise refuse(self.path, f"holds id {int(self._ids[at])} at {at}; n_vocab is {self.header.n_vocab}")
        if not self.header.n_docs:
            return
        first, last = self.offsets[:-1].astype(np.int64), self.offsets[1:].astype(np.int64) - 1
        for stored, places, id, word in (
            (self.frame.stores_opening, first, self.frame.opening, "begin"),
            (self.frame.stores_closing, last, self.frame.closing, "end"),
        ):
            if stored and not bool((self._ids[places] == id).all()):
                doc = int((self._ids[places] != id).argmax())
                raise refuse(self.path, f"does not {word} its document {doc} with id {id}")
