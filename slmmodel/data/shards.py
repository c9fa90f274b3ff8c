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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.source import (
    REPACK,
    Frame,
    FramedDocuments,
    SingleBlock,
    check_ids,
    corrupt,
    frame_of,
    map_array,
    unreadable,
    wrong_version,
)
from slmmodel.errors import CorruptFile, Mismatch, MissingInput
from slmmodel.vocab import VocabMeta

MANIFEST, VOCAB = "manifest.json", "vocab.json"
MANIFEST_FORMAT, MANIFEST_VERSION = "slmtok-shards", 1
MAGIC, SHARD_VERSION = b"SLMSHARD", 1
HEADER_BYTES = 4096
MAX_VOCAB_U16 = 65536
FLAG_BOS, FLAG_EOS = 1, 2
_HEADER = struct.Struct("<8sIIQQQII32sQ")
_ENTRY_KEYS = {"name", "split", "tokens", "docs", "bytes", "sha256"}


class Header(NamedTuple):
    """The fields of a shard's header; `width` is bytes per id, and `number` that of the shard within its split."""

    magic: bytes
    version: int
    width: int
    tokens: int
    docs: int
    raw_bytes: int
    n_vocab: int
    flags: int
    fingerprint: bytes
    number: int


def read_header(path: Path) -> Header:
    """Reads and checks a header. Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`."""
    try:
        with path.open("rb") as file:
            data = file.read(HEADER_BYTES)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(data) < HEADER_BYTES or data[:8] != MAGIC:
        raise corrupt(
            path, f"is not a token shard: it does not begin with {MAGIC.decode()} and {HEADER_BYTES} bytes of header"
        )
    header = Header._make(_HEADER.unpack_from(data))
    if header.version != SHARD_VERSION:
        raise wrong_version(path, header.version, SHARD_VERSION)
    expected = 2 if header.n_vocab <= MAX_VOCAB_U16 else 4
    if header.width != expected:
        raise corrupt(path, f"has {header.width} bytes per id; n_vocab {header.n_vocab} takes {expected}")
    if header.flags & ~(FLAG_BOS | FLAG_EOS):
        raise corrupt(path, f"has unknown flags {header.flags:#x}")
    if any(data[_HEADER.size :]):
        raise corrupt(path, f"has nonzero bytes after the header's fields (bytes {_HEADER.size} to {HEADER_BYTES - 1})")
    return header


class Shard(FramedDocuments):
    """One shard, open for reading. Its ids are checked when they are first read."""

    def __init__(self, path: Path, header: Header, frame: Frame) -> None:
        self.path, self.header = path, header
        ids = map_array(path, f"<u{header.width}", header.tokens, HEADER_BYTES)
        offsets = map_array(path.with_suffix(".off"), "<u8", header.docs + 1)
        nbytes = map_array(path.with_suffix(".nb"), "<u8", header.docs)
        super().__init__(ids, offsets[:-1], offsets[1:], nbytes, frame)
        domains = path.with_suffix(".dom")
        self.domains = map_array(domains, "<u2", header.docs) if domains.exists() else None
        self._check_tables(offsets)
        self._is_checked = False
        self._lock = threading.Lock()

    def _check_tables(self, offsets: NDArray[Any]) -> None:
        header, path = self.header, self.path
        if int(offsets[0]) != 0 or int(offsets[-1]) != header.tokens:
            raise corrupt(path.with_suffix(".off"), f"does not run from 0 to n_tokens {header.tokens}")
        shortest = 2 - self.frame.added
        too_short = self._stops < self._starts + np.uint64(shortest)
        if bool(too_short.any()):
            raise corrupt(
                path.with_suffix(".off"), f"gives document {int(too_short.argmax())} fewer than {shortest} ids"
            )
        total = int(self._nbytes.sum(dtype=np.uint64))
        if total != header.raw_bytes:
            raise corrupt(path.with_suffix(".nb"), f"sums to {total:,} bytes; the header has {header.raw_bytes:,}")

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """See `TokenBlock`. Raises `CorruptFile` at the first read of invalid ids."""
        if not self._is_checked:
            with self._lock:
                if not self._is_checked:
                    self._check_ids()
                    self._is_checked = True
        return super().ids(doc, lo, hi)

    def _check_ids(self) -> None:
        """`max(id) < n_vocab`, and the delimiters that the header promises."""
        check_ids(self.path, self._ids, self.header.n_vocab)
        for stored, places, id, verb in (
            (self.frame.stores_opening, self._starts, self.frame.opening, "begin"),
            (self.frame.stores_closing, self._stops - np.uint64(1), self.frame.closing, "end"),
        ):
            wrong = self._ids[places] != id if stored else np.empty(0)
            if wrong.any():
                raise corrupt(self.path, f"does not {verb} its document {int(wrong.argmax())} with id {id}")


class ShardSource(SingleBlock):
    """One split of packed data. `open_shards` opens it."""

    vocab: VocabMeta
    frame: Frame

    def __init__(self, folder: Path, split: str, vocab: VocabMeta, manifest: dict[str, Any]) -> None:
        self.split, self.vocab = split, vocab
        entries = [entry for entry in manifest["shards"] if entry["split"] == split]
        if not entries:
            splits = sorted({entry["split"] for entry in manifest["shards"]})
            raise MissingInput(
                f"{folder} has no split {split!r}",
                where=str(folder / MANIFEST),
                limit=f"splits: {', '.join(splits) or 'none'}",
                fix="name one of them, or pack with --val",
            )
        paths = [folder / f"{entry['name']}.bin" for entry in entries]
        headers = [read_header(path) for path in paths]
        flags = sorted({header.flags for header in headers})
        if len(flags) > 1:
            raise corrupt(folder, f"has shards with different delimiters (flags {flags})")
        self.frame = frame_of(vocab, stores_opening=bool(flags[0] & FLAG_BOS), stores_closing=bool(flags[0] & FLAG_EOS))
        self.shards = [Shard(path, header, self.frame) for path, header in zip(paths, headers, strict=True)]
        for number, (entry, shard) in enumerate(zip(entries, self.shards, strict=True)):
            _check_agreement(entry, shard, number, vocab)
        self._firsts = np.cumsum([0] + [header.docs for header in headers])
        digest = manifest.get("splits", {}).get(split, {}).get("digest")
        self.documents_digest = digest if isinstance(digest, str) else None
        self.domain_names = tuple(manifest.get("domains", ()))
        self._sums = [entry["sha256"] for entry in entries]

    @property
    def n_docs(self) -> int:
        """Documents of the split."""
        return int(self._firsts[-1])

    @property
    def digest(self) -> str:
        """SHA-256 over the sums of all files of the split, as the manifest lists them, and the tokenizer."""
        content = {"fingerprint": self.vocab.fingerprint, "shards": self._sums}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def lengths(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return np.concatenate([shard.lengths() for shard in self.shards])

    def nbytes(self) -> NDArray[np.int64]:
        """See `TokenBlock`."""
        return np.concatenate([shard.nbytes() for shard in self.shards])

    def domains(self) -> NDArray[np.int64] | None:
        """See `TokenSource`."""
        parts = [shard.domains.astype(np.int64) for shard in self.shards if shard.domains is not None]
        return np.concatenate(parts) if len(parts) == len(self.shards) else None

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """See `TokenBlock`. Raises `CorruptFile` at the first read of a shard whose ids are invalid."""
        number = 0 if len(self.shards) == 1 else int(np.searchsorted(self._firsts, doc, side="right")) - 1
        return self.shards[number].ids(doc - int(self._firsts[number]), lo, hi)


def open_shards(folder: Path, split: str) -> ShardSource:
    """Opens a split. Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`, `Mismatch`."""
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
        raise MissingInput(
            f"{folder} is not finished token data: cannot read {MANIFEST} ({error.strerror})",
            where=str(path),
            fix="slmtok pack CORPUS -t TOK -o DIR; the same command finishes an interrupted one",
        ) from error
    except (ValueError, RecursionError) as error:
        raise corrupt(path, f"is not JSON ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != MANIFEST_FORMAT:
        raise corrupt(path, f"lacks the format {MANIFEST_FORMAT!r}")
    if manifest.get("version") != MANIFEST_VERSION:
        raise wrong_version(path, manifest.get("version"), MANIFEST_VERSION)
    shards = manifest.get("shards")
    complete = isinstance(shards, list) and all(
        isinstance(entry, dict) and set(entry) >= _ENTRY_KEYS for entry in shards
    )
    if not complete or not isinstance(manifest.get("fingerprint"), str):
        raise corrupt(path, f"lacks 'fingerprint', or a shard lacks one of {', '.join(sorted(_ENTRY_KEYS))}")
    return manifest


def _other_tokenizer(path: Path, fingerprint: str, vocab: VocabMeta) -> Mismatch:
    return Mismatch(
        f"{path.name} and {VOCAB} were made with different tokenizers",
        where=str(path),
        limit=f"fingerprints {fingerprint[:16]}… and {vocab.fingerprint[:16]}…",
        fix="restore the vocab.json that was packed with the data, or pack the data again",
    )


def _check_agreement(entry: dict[str, Any], shard: Shard, number: int, vocab: VocabMeta) -> None:
    """Manifest, shard header and vocabulary must agree."""
    header, fingerprint = shard.header, shard.header.fingerprint.hex()
    if fingerprint != vocab.fingerprint:
        raise _other_tokenizer(shard.path, fingerprint, vocab)
    for field, found, expected in (
        ("tokens", header.tokens, entry["tokens"]),
        ("docs", header.docs, entry["docs"]),
        ("bytes", header.raw_bytes, entry["bytes"]),
        ("number", header.number, number),
        ("n_vocab", header.n_vocab, vocab.n_vocab),
    ):
        if found != expected:
            raise CorruptFile(
                f"{shard.path.name} has {field} {found}, expected {expected}",
                where=str(shard.path),
                limit=f"{MANIFEST} and {VOCAB} must agree with the header",
                fix=REPACK,
            )
