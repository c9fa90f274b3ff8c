"""Packed data (docs/formats/shards.md): a folder with a manifest, `vocab.json` and memory-mapped shards.

The manifest is written last, so a folder without one is unfinished. Sizes and sums are checked when a shard is opened;
id ranges and delimiters once, when its ids are first read. Manifest, shard headers and `vocab.json` must agree. The
tokenizer file in the folder is never opened.
"""

from __future__ import annotations

import hashlib
import json
import struct
import threading
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.source import Frame, frame_of, framed
from slmmodel.errors import CorruptShards, FingerprintMismatch, MissingShards, UnsupportedShards
from slmmodel.vocab import VocabMeta

MANIFEST, VOCAB = "manifest.json", "vocab.json"
MANIFEST_FORMAT, MANIFEST_VERSION = "slmtok-shards", 1
MAGIC, SHARD_VERSION = b"SLMSHARD", 1
HEADER_BYTES = 4096
MAX_VOCAB_U16 = 65536
FLAG_BOS, FLAG_EOS = 1, 2
_HEADER = struct.Struct("<8sIIQQQII32sQ")
_SCAN_IDS = 1 << 24
_ENTRY_KEYS = {"name", "split", "tokens", "docs", "bytes", "sha256"}
_REPACK = "pack the data again: slmtok pack CORPUS -t TOK -o DIR"


class Header(NamedTuple):
    """The fields of a shard's header; `width` is bytes per id."""

    width: int
    n_tokens: int
    n_docs: int
    n_bytes: int
    n_vocab: int
    flags: int
    fingerprint: str
    number: int


def _corrupt(path: Path, fact: str) -> CorruptShards:
    return CorruptShards(f"{path.name} {fact}", where=str(path), fix=_REPACK, path=str(path))


def _unreadable(path: Path, error: OSError) -> MissingShards:
    return MissingShards(f"cannot read {path.name}: {error.strerror}", where=str(path), fix=_REPACK)


def _version(path: Path, found: object, known: int) -> UnsupportedShards:
    return UnsupportedShards(
        f"{path.name} has version {found!r}",
        where=str(path),
        limit=f"this package reads version {known}",
        fix="update slmtok, or pack the data again",
    )


def read_header(path: Path) -> Header:
    """Reads and checks a header. Raises `MissingShards`, `CorruptShards`, `UnsupportedShards`."""
    try:
        with path.open("rb") as file:
            data = file.read(HEADER_BYTES)
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(data) < HEADER_BYTES or data[:8] != MAGIC:
        raise _corrupt(
            path, f"is not a token shard: it does not begin with {MAGIC.decode()} and {HEADER_BYTES} bytes of header"
        )
    _, version, width, tokens, docs, raw, n_vocab, flags, fingerprint, number = _HEADER.unpack_from(data)
    if version != SHARD_VERSION:
        raise _version(path, version, SHARD_VERSION)
    header = Header(width, tokens, docs, raw, n_vocab, flags, fingerprint.hex(), number)
    expected = 2 if header.n_vocab <= MAX_VOCAB_U16 else 4
    if header.width != expected:
        raise _corrupt(path, f"has {header.width} bytes per id; n_vocab {header.n_vocab} takes {expected}")
    if header.flags & ~(FLAG_BOS | FLAG_EOS):
        raise _corrupt(path, f"has unknown flags {header.flags:#x}")
    if any(data[_HEADER.size :]):
        raise _corrupt(
            path, f"has nonzero bytes after the header's fields (bytes {_HEADER.size} to {HEADER_BYTES - 1})"
        )
    return header


def map_array(path: Path, dtype: str, count: int, offset: int = 0) -> NDArray[Any]:
    """`count` numbers of a file from byte `offset` on, memory-mapped; the file must end there."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from error
    expected = offset + count * np.dtype(dtype).itemsize
    if size != expected:
        raise _corrupt(path, f"has {size:,} bytes, expected {expected:,}")
    if not count:
        return np.empty(0, dtype)
    # A plain array over the map: slicing `np.memmap` itself costs several times as much.
    return np.asarray(np.memmap(path, dtype, "r", offset, (count,)))


class Shard:
    """One shard, open for reading."""

    def __init__(self, path: Path, frame: Frame) -> None:
        self.path, self.frame = path, frame
        self.header = header = read_header(path)
        self._ids = map_array(path, f"<u{header.width}", header.n_tokens, HEADER_BYTES)
        self.offsets = map_array(path.with_suffix(".off"), "<u8", header.n_docs + 1)
        self.raw_bytes = map_array(path.with_suffix(".nb"), "<u8", header.n_docs)
        domains = path.with_suffix(".dom")
        self.domains = map_array(domains, "<u2", header.n_docs) if domains.exists() else None
        self._check_tables()
        self._checked = False
        self._lock = threading.Lock()

    def _check_tables(self) -> None:
        header, path = self.header, self.path
        if int(self.offsets[0]) != 0 or int(self.offsets[-1]) != header.n_tokens:
            raise _corrupt(path.with_suffix(".off"), f"does not run from 0 to n_tokens {header.n_tokens}")
        shortest = int(self.frame.stores_opening) + int(self.frame.stores_closing)
        too_short = self.offsets[1:] < self.offsets[:-1] + np.uint64(shortest)
        if bool(too_short.any()):
            raise _corrupt(
                path.with_suffix(".off"), f"gives document {int(too_short.argmax())} fewer than {shortest} ids"
            )
        total = int(self.raw_bytes.sum(dtype=np.uint64))
        if total != header.n_bytes:
            raise _corrupt(path.with_suffix(".nb"), f"sums to {total:,} bytes; the header has {header.n_bytes:,}")

    def stored_lengths(self) -> NDArray[np.int64]:
        """Stored ids of each document: int64 [n_docs]."""
        offsets: NDArray[np.int64] = self.offsets.view(np.int64)
        return offsets[1:] - offsets[:-1]

    def stored(self) -> NDArray[Any]:
        """All ids of the shard; the first call checks them."""
        if not self._checked:
            with self._lock:
                if not self._checked:
                    self._check_ids()
                    self._checked = True
        return self._ids

    def _check_ids(self) -> None:
        """`max(id) < n_vocab`, and the delimiters that the header promises."""
        for start in range(0, len(self._ids), _SCAN_IDS):
            part = self._ids[start : start + _SCAN_IDS]
            if int(part.max()) >= self.header.n_vocab:
                at = start + int((part >= self.header.n_vocab).argmax())
                raise _corrupt(self.path, f"holds id {int(self._ids[at])} at {at}; n_vocab is {self.header.n_vocab}")
        if not self.header.n_docs:
            return
        first, last = self.offsets[:-1].astype(np.int64), self.offsets[1:].astype(np.int64) - 1
        for stored, places, id, verb in (
            (self.frame.stores_opening, first, self.frame.opening, "begin"),
            (self.frame.stores_closing, last, self.frame.closing, "end"),
        ):
            if stored and not bool((self._ids[places] == id).all()):
                doc = int((self._ids[places] != id).argmax())
                raise _corrupt(self.path, f"does not {verb} its document {doc} with id {id}")


class ShardSource:
    """One split of packed data: a source of one block, which is the source itself. `open_shards` opens it."""

    n_blocks = 1
    bytes_from = "source"
    """Bytes of documents come from the corpus, not from summing over ids."""

    def __init__(self, folder: Path, split: str, vocab: VocabMeta, manifest: dict[str, Any]) -> None:
        self.folder, self.split, self.vocab, self.manifest = folder, split, vocab, manifest
        entries = [entry for entry in manifest["shards"] if entry["split"] == split]
        if not entries:
            splits = sorted({entry["split"] for entry in manifest["shards"]})
            raise MissingShards(
                f"{folder} has no split {split!r}",
                where=str(folder / MANIFEST),
                limit=f"splits: {', '.join(splits) or 'none'}",
                fix="name one of them, or pack with --val",
            )
        headers = [read_header(folder / f"{entry['name']}.bin") for entry in entries]
        flags = {header.flags for header in headers}
        if len(flags) > 1:
            raise _corrupt(folder, f"has shards with different delimiters (flags {sorted(flags)})")
        stored = flags.pop()
        self.frame = frame_of(vocab, stores_opening=bool(stored & FLAG_BOS), stores_closing=bool(stored & FLAG_EOS))
        self.shards = [Shard(folder / f"{entry['name']}.bin", self.frame) for entry in entries]
        for number, (entry, shard) in enumerate(zip(entries, self.shards, strict=True)):
            _check_agreement(entry, shard, number, vocab)
        self._firsts = np.cumsum([0] + [shard.header.n_docs for shard in self.shards])

    @property
    def n_docs(self) -> int:
        """Documents of the split."""
        return int(self._firsts[-1])

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the sums of all files of the split, as the manifest lists them, and the tokenizer."""
        content = {
            "fingerprint": self.vocab.fingerprint,
            "shards": [entry["sha256"] for entry in self.manifest["shards"] if entry["split"] == self.split],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def documents_digest(self) -> str | None:
        """The corpus digest of the split: over its documents alone, independent of the tokenizer."""
        found = self.manifest.get("splits", {}).get(self.split, {}).get("digest")
        return found if isinstance(found, str) else None

    def block(self, index: int) -> ShardSource:
        """Itself, for index 0."""
        if index:
            raise IndexError(index)
        return self

    def lengths(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return np.concatenate([shard.stored_lengths() for shard in self.shards]) + self.frame.added

    def nbytes(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return np.concatenate([shard.raw_bytes.astype(np.int64) for shard in self.shards])

    def domains(self) -> NDArray[np.int64] | None:
        """Number of each document's domain, named in the manifest: int64 [n_docs]; None without domains."""
        if any(shard.domains is None for shard in self.shards):
            return None
        return np.concatenate([shard.domains.astype(np.int64) for shard in self.shards if shard.domains is not None])

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """See `TokenBlock`. Raises `CorruptShards` at the first read of a shard whose ids are invalid."""
        number = 0 if len(self.shards) == 1 else int(np.searchsorted(self._firsts, doc, side="right")) - 1
        shard = self.shards[number]
        local = doc - int(self._firsts[number])
        start, stop = int(shard.offsets[local]), int(shard.offsets[local + 1])
        stored = shard.stored()
        if not self.frame.added:
            return stored[start + lo : min(start + hi, stop)]
        return framed(stored[start:stop], lo, hi, stop - start + self.frame.added, self.frame)


def open_shards(folder: Path, split: str) -> ShardSource:
    """Opens a split. Raises `MissingShards`, `CorruptShards`, `UnsupportedShards`, `FingerprintMismatch`."""
    manifest = read_manifest(folder)
    vocab = VocabMeta.load(folder / VOCAB)
    if manifest["fingerprint"] != vocab.fingerprint:
        raise _other_tokenizer(folder / MANIFEST, manifest["fingerprint"], vocab)
    return ShardSource(folder, split, vocab, manifest)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; the keys that this package uses are checked."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except OSError as error:
        raise MissingShards(
            f"{folder} is not finished token data: cannot read {MANIFEST} ({error.strerror})",
            where=str(path),
            fix="slmtok pack CORPUS -t TOK -o DIR; the same command finishes an interrupted one",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _corrupt(path, f"is not JSON ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != MANIFEST_FORMAT:
        raise _corrupt(path, f"lacks the format {MANIFEST_FORMAT!r}")
    if manifest.get("version") != MANIFEST_VERSION:
        raise _version(path, manifest.get("version"), MANIFEST_VERSION)
    shards = manifest.get("shards")
    complete = isinstance(shards, list) and all(
        isinstance(entry, dict) and set(entry) >= _ENTRY_KEYS for entry in shards
    )
    if not complete or not isinstance(manifest.get("fingerprint"), str):
        raise _corrupt(path, f"lacks 'fingerprint', or a shard lacks one of {', '.join(sorted(_ENTRY_KEYS))}")
    return manifest


def _other_tokenizer(path: Path, fingerprint: str, vocab: VocabMeta) -> FingerprintMismatch:
    return FingerprintMismatch(
        f"{path.name} and {VOCAB} were made with different tokenizers",
        where=str(path),
        limit=f"fingerprints {fingerprint[:16]}… and {vocab.fingerprint[:16]}…",
        fix="restore the vocab.json that was packed with the data, or pack the data again",
    )


def _check_agreement(entry: dict[str, Any], shard: Shard, number: int, vocab: VocabMeta) -> None:
    """Manifest, shard header and vocabulary must agree."""
    header = shard.header
    if header.fingerprint != vocab.fingerprint:
        raise _other_tokenizer(shard.path, header.fingerprint, vocab)
    for field, found, expected in (
        ("tokens", header.n_tokens, entry["tokens"]),
        ("docs", header.n_docs, entry["docs"]),
        ("bytes", header.n_bytes, entry["bytes"]),
        ("number", header.number, number),
        ("n_vocab", header.n_vocab, vocab.n_vocab),
    ):
        if found != expected:
            raise CorruptShards(
                f"{shard.path.name} has {field} {found}, expected {expected}",
                where=str(shard.path),
                limit=f"{MANIFEST} and {VOCAB} must agree with the header",
                fix=_REPACK,
            )
