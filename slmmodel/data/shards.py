"""A folder of token shards as a source: the manifest, the vocabulary, and all shards of a split as one block.

The manifest is written last, so a folder without one was never finished. What manifest, headers and `vocab.json` say of
the same thing must agree before anything is read. The tokenizer file in the folder is never opened.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.shard_file import FLAG_BOS, FLAG_EOS, Header, Shard, read_header, refuse
from slmmodel.data.source import Frame, frame_of, framed
from slmmodel.errors import CorruptShards, FingerprintMismatch, MissingShards, UnsupportedShards
from slmmodel.vocab import VocabMeta

MANIFEST, VOCAB = "manifest.json", "vocab.json"
MANIFEST_FORMAT, MANIFEST_VERSION = "slmtok-shards", 1


class ShardSource:
    """One split of packed data. It is its own only block. Open it with `open_shards`."""

    n_blocks = 1
    bytes_from = "source"
    """The bytes of documents come from the corpus, not from adding up those of ids."""

    def __init__(self, folder: Path, split: str, vocab: VocabMeta, manifest: dict[str, Any]) -> None:
        self.folder, self.split, self.vocab, self.manifest = folder, split, vocab, manifest
        entries = [entry for entry in manifest["shards"] if entry["split"] == split]
        if not entries:
            have = sorted({entry["split"] for entry in manifest["shards"]})
            raise MissingShards(
                f"{folder} has no split {split!r}",
                where=str(folder / MANIFEST),
                limit=f"splits: {', '.join(have) or 'none'}",
                fix="name one of them, or pack with --val",
            )
        headers = [read_header(folder / f"{entry['name']}.bin") for entry in entries]
        self.frame = _frame(folder, vocab, headers)
        self.shards = [Shard(folder / f"{entry['name']}.bin", self.frame) for entry in entries]
        for number, (entry, shard) in enumerate(zip(entries, self.shards, strict=True)):
            _agree(entry, shard, number, vocab)
        self._firsts = np.cumsum([0] + [shard.header.n_docs for shard in self.shards])

    @property
    def n_docs(self) -> int:
        """Documents of the split."""
        return int(self._firsts[-1])

    @cached_property
    def digest(self) -> str:
        """Covers the bytes of all files of the split, as the manifest names them, and the tokenizer."""
        content = {
            "fingerprint": self.vocab.fingerprint,
            "shards": [entry["sha256"] for entry in self.manifest["shards"] if entry["split"] == self.split],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def documents_digest(self) -> str | None:
        """The corpus digest of the split: of its documents alone, whatever tokenizer they went through."""
        found = self.manifest.get("splits", {}).get(self.split, {}).get("digest")
        return found if isinstance(found, str) else None

    def block(self, index: int) -> ShardSource:
        """The source itself, for index 0."""
        if index:
            raise IndexError(index)
        return self

    def lengths(self) -> NDArray[np.int64]:
        """Ids of each document with its delimiters: int64 [n_docs]."""
        return np.concatenate([shard.stored_lengths() for shard in self.shards]) + self.frame.added

    def nbytes(self) -> NDArray[np.int64]:
        """Raw bytes of each document: int64 [n_docs]."""
        return np.concatenate([shard.raw_bytes.astype(np.int64) for shard in self.shards])

    def domains(self) -> NDArray[np.int64] | None:
        """Number of each document's domain, whose names are in the manifest; None where the corpus names none."""
        if any(shard.domains is None for shard in self.shards):
            return None
        return np.concatenate([shard.domains.astype(np.int64) for shard in self.shards if shard.domains is not None])

    def ids(self, doc: int, lo: int, hi: int) -> NDArray[Any]:
        """Ids `lo` to `hi - 1` of a document. Raises `CorruptShards` the first time where a shard's ids are unsound."""
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
    named = manifest["fingerprint"]
    if named != vocab.fingerprint:
        raise FingerprintMismatch(
            f"{folder / MANIFEST} and its {VOCAB} name different tokenizers",
            where=str(folder / VOCAB),
            limit=f"fingerprints {str(named)[:16]}… and {vocab.fingerprint[:16]}…",
            fix="restore the vocab.json that was packed with the data",
        )
    return ShardSource(folder, split, vocab, manifest)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, checked for what this package uses of it."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except OSError as error:
        raise MissingShards(
            f"{folder} is no finished token data: {MANIFEST} cannot be read ({error.strerror})",
            where=str(path),
            fix="make it, or finish it by the same command: slmtok pack CORPUS -t TOK -o DIR",
        ) from error
    except (ValueError, RecursionError) as error:
        raise refuse(path, f"is not JSON ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != MANIFEST_FORMAT:
        raise refuse(path, f"does not say format {MANIFEST_FORMAT!r}")
    if manifest.get("version") != MANIFEST_VERSION:
        raise UnsupportedShards(
            f"{MANIFEST} has version {manifest.get('version')!r}",
            where=str(path),
            limit=f"this package reads version {MANIFEST_VERSION}",
            fix="update slmtok, or make the data again",
        )
    shards = manifest.get("shards")
    sound = isinstance(shards, list) and all(isinstance(entry, dict) and set(entry) >= _KEYS for entry in shards)
    if not sound or not isinstance(manifest.get("fingerprint"), str):
        raise refuse(path, f"lacks 'fingerprint', or a shard lacks one of {', '.join(sorted(_KEYS))}")
    return manifest


_KEYS = {"name", "split", "tokens", "docs", "bytes", "sha256"}


def _frame(folder: Path, vocab: VocabMeta, headers: list[Header]) -> Frame:
    flags = {header.flags for header in headers}
    if len(flags) > 1:
        raise refuse(folder, f"has shards with different frames (flags {sorted(flags)})")
    flag = flags.pop()
    return frame_of(vocab, stores_opening=bool(flag & FLAG_BOS), stores_closing=bool(flag & FLAG_EOS))


def _agree(entry: dict[str, Any], shard: Shard, number: int, vocab: VocabMeta) -> None:
    """What the manifest, the header and the vocabulary say of one shard must be one thing."""
    header = shard.header
    if header.fingerprint != vocab.fingerprint:
        raise FingerprintMismatch(
            f"{shard.path.name} was made with another tokenizer than its {VOCAB}",
            where=str(shard.path),
            limit=f"fingerprints {header.fingerprint[:16]}… and {vocab.fingerprint[:16]}…",
            fix="make the data again with one tokenizer",
        )
    for field, of_header, expected in (
        ("tokens", header.n_tokens, entry["tokens"]),
        ("docs", header.n_docs, entry["docs"]),
        ("bytes", header.n_bytes, entry["bytes"]),
        ("number", header.number, number),
        ("n_vocab", header.n_vocab, vocab.n_vocab),
    ):
        if of_header != expected:
            raise CorruptShards(
                f"{shard.path.name} has {field} {of_header}, expected {expected}",
                where=str(shard.path),
                limit=f"{MANIFEST} and {VOCAB} must agree with the header",
                fix="make the data again: slmtok pack",
            )
