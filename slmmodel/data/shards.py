"""Packed data (docs/formats/shards.md): a folder with a manifest, `vocab.json` and memory-mapped shards.

The manifest is written last, so a folder without one is unfinished. Sizes and sums are checked when a shard is opened;
id ranges and delimiters once, when its ids are first read. Manifest, shard headers and `vocab.json` must agree. The
tokenizer file in the folder is never opened.
"""

from __future__ import annotations

import hashlib
import json
import struct
from bisect import bisect_right
from collections import namedtuple
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from slmmodel.data.packing import Ints
from slmmodel.data.source import (
    Delimiters,
    DocumentBlock,
    Shard,
    TokenSource,
    check_ids,
    corrupt,
    delimiters_of,
    map_array,
    unreadable,
    wrong_version,
)
from slmmodel.errors import Mismatch, MissingInput, first_fault
from slmmodel.vocab import VocabMeta

MANIFEST, VOCAB = "manifest.json", "vocab.json"
MAGIC, VERSION = b"SLMSHARD", 1
HEADER_BYTES = 4096
MAX_VOCAB_U16 = 65536
FLAG_BOS, FLAG_EOS = 1, 2
_HEADER = struct.Struct("<8sIIQQQII32sQ")
Header = namedtuple("Header", "magic version width tokens docs bytes n_vocab flags fingerprint number")
"""The fields of a shard's header; `width` is bytes per id, and `number` that of the shard within its split."""


class _Entry(BaseModel):
    """A shard as the manifest lists it."""

    name: str
    split: str
    tokens: int
    docs: int
    bytes: int
    sha256: dict[str, str]


class _Manifest(BaseModel):
    """The keys of a manifest that this package uses."""

    format: Literal["slmtok-shards"]
    version: Literal[1]
    fingerprint: str
    shards: list[_Entry]
    splits: dict[str, dict[str, Any]] = {}
    domains: tuple[str, ...] = ()


def open_shard(path: Path, header: Header, delimiters: Delimiters) -> Shard:
    """The files of one shard, memory-mapped. Checks sizes, offsets and the sum of bytes, not the ids."""
    off, nb = path.with_suffix(".off"), path.with_suffix(".nb")
    ids = map_array(path, f"<u{header.width}", header.tokens, HEADER_BYTES)
    offsets = map_array(off, "<u8", header.docs + 1)
    nbytes = map_array(nb, "<u8", header.docs)
    if int(offsets[0]) != 0 or int(offsets[-1]) != header.tokens:
        raise corrupt(off, f"does not run from 0 to n_tokens {header.tokens}")
    shortest = 2 - delimiters.added
    too_short = offsets[1:] < offsets[:-1] + np.uint64(shortest)
    if too_short.any():
        raise corrupt(off, f"gives document {int(too_short.argmax())} fewer than {shortest} ids")
    total = int(nbytes.sum(dtype=np.uint64))
    if total != header.bytes:
        raise corrupt(nb, f"sums to {total:,} bytes; the header has {header.bytes:,}")
    dom = path.with_suffix(".dom")
    domains = map_array(dom, "<u2", header.docs) if dom.exists() else None
    return Shard(ids, offsets[:-1], offsets[1:], nbytes, domains)


class ShardSource(DocumentBlock, TokenSource):
    """One split of packed data; its shards are one block. The ids of a shard are checked when they are first read."""

    vocab: VocabMeta
    delimiters: Delimiters

    def __init__(self, folder: Path, split: str) -> None:
        """Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`, `Mismatch`."""
        manifest = read_manifest(folder)
        self.split, self.vocab = split, VocabMeta.load(folder / VOCAB)
        self._check_fingerprint(folder / MANIFEST, manifest.fingerprint)
        entries = [entry for entry in manifest.shards if entry.split == split]
        if not entries:
            splits = sorted({entry.split for entry in manifest.shards})
            raise MissingInput(
                f"{folder} has no split {split!r}",
                where=str(folder / MANIFEST),
                limit=f"splits: {', '.join(splits) or 'none'}",
                fix="name one of them, or pack with --val",
            )
        self.paths = [folder / f"{entry.name}.bin" for entry in entries]
        try:
            headers = [self._read_header(*numbered) for numbered in enumerate(entries)]
            flags = headers[0].flags
            if any(header.flags != flags for header in headers):
                raise corrupt(folder, "has shards with different delimiters")
            stores_opening, stores_closing = bool(flags & FLAG_BOS), bool(flags & FLAG_EOS)
            delimiters = delimiters_of(self.vocab, stores_opening=stores_opening, stores_closing=stores_closing)
            shards = [open_shard(path, header, delimiters) for path, header in zip(self.paths, headers, strict=True)]
        except OSError as error:
            raise unreadable(folder, error) from error
        super().__init__(shards, delimiters)
        self._unchecked = set(range(len(shards)))
        digest = manifest.splits.get(split, {}).get("digest")
        self.documents_digest = digest if isinstance(digest, str) else None
        self.domain_names = manifest.domains
        self._sums = [entry.sha256 for entry in entries]

    def _read_header(self, number: int, entry: _Entry) -> Header:
        """The header of a shard, which must agree with its entry in the manifest and with the vocabulary."""
        path = self.paths[number]
        with path.open("rb") as file:
            data = file.read(HEADER_BYTES)
        if len(data) < HEADER_BYTES or data[:8] != MAGIC:
            fact = f"it does not begin with {MAGIC.decode()} and {HEADER_BYTES} bytes of header"
            raise corrupt(path, f"is not a token shard: {fact}")
        header = Header._make(_HEADER.unpack_from(data))
        if header.version != VERSION:
            raise wrong_version(path, header.version, VERSION)
        n_vocab, listed = self.vocab.n_vocab, entry.model_dump(include={"tokens", "docs", "bytes"})
        width = 2 if n_vocab <= MAX_VOCAB_U16 else 4
        for field, expected in {**listed, "number": number, "n_vocab": n_vocab, "width": width}.items():
            if (value := getattr(header, field)) != expected:
                raise corrupt(path, f"has {field} {value}, expected {expected} as in {MANIFEST} and {VOCAB}")
        if header.flags & ~(FLAG_BOS | FLAG_EOS):
            raise corrupt(path, f"has unknown flags {header.flags:#x}")
        if any(data[_HEADER.size :]):
            raise corrupt(path, f"has nonzero bytes after the header's fields, from byte {_HEADER.size} on")
        self._check_fingerprint(path, header.fingerprint.hex())
        return header

    def _check_fingerprint(self, path: Path, fingerprint: str) -> None:
        if fingerprint != self.vocab.fingerprint:
            raise Mismatch(
                f"{path.name} and {VOCAB} were made with different tokenizers",
                where=str(path),
                limit=f"fingerprints {fingerprint[:16]}… and {self.vocab.fingerprint[:16]}…",
                fix="restore the vocab.json that was packed with the data, or pack the data again",
            )

    @property
    def digest(self) -> str:
        """SHA-256 over the sums of all files of the split, as the manifest lists them, and the tokenizer."""
        content = {"fingerprint": self.vocab.fingerprint, "shards": self._sums}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def domains(self) -> Ints | None:
        """See `TokenSource`."""
        domains = [shard.domains for shard in self.shards if shard.domains is not None]
        return np.concatenate(domains).astype(np.int64) if len(domains) == len(self.shards) else None

    def ids(self, doc: int, start: int, stop: int) -> NDArray[Any]:
        """See `DocumentBlock`. Raises `CorruptFile` at the first read of a shard whose ids are invalid."""
        if self._unchecked:
            number = bisect_right(self._firsts, doc) - 1
            if number in self._unchecked:
                self._check_ids(self.paths[number], self.shards[number])
                self._unchecked.discard(number)
        return super().ids(doc, start, stop)

    def _check_ids(self, path: Path, shard: Shard) -> None:
        """`max(id) < n_vocab`, and the delimiters that the header promises."""
        check_ids(path, shard.ids, self.vocab.n_vocab)
        opening, closing, stores_opening, stores_closing = self.delimiters
        for is_stored, indices, id, verb in (
            (stores_opening, shard.starts, opening, "begin"),
            (stores_closing, shard.stops - np.uint64(1), closing, "end"),
        ):
            wrong = shard.ids[indices] != id if is_stored else np.empty(0)
            if wrong.any():
                raise corrupt(path, f"does not {verb} its document {int(wrong.argmax())} with id {id}")


def read_manifest(folder: Path) -> _Manifest:
    """The manifest of a folder. Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`."""
    path = folder / MANIFEST
    try:
        return _Manifest.model_validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise MissingInput(
            f"{folder} is not finished token data: cannot read {MANIFEST} ({error.strerror})",
            where=str(path),
            fix="slmtok pack CORPUS -t TOK -o DIR; the same command finishes an interrupted one",
        ) from error
    except ValidationError as error:
        name, value, limit = first_fault(error)
        if name == "version":
            raise wrong_version(path, value, 1) from None
        raise corrupt(path, f"has {name} {value!r:.40}" if name else "is not JSON", limit=limit) from None
