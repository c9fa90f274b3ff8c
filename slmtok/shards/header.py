"""The layout of shards on disk: names, the 4096-byte header, frames. Specified in docs/formats/shards.md.

Everything is little-endian. This file knows bytes and names; what they must agree with is judged by the reader.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptShard, UnsupportedVersion

if TYPE_CHECKING:
    import numpy as np

MAGIC = b"SLMSHARD"
VERSION = 1
HEADER_BYTES = 4096
BOS_FLAG, EOS_FLAG = 1, 2
SPLITS = ("train", "val")
MANIFEST, PLAN, JOURNAL, VOCAB, TOKENIZER = "manifest.json", "plan.json", "journal.jsonl", "vocab.json", "tok.json"
PART = ".tmp"
"""Ending of a file of a shard that is not whole yet."""

_FIELDS = struct.Struct("<8sIIQQQII32sQ")
_SHARD_FILE = re.compile(r"(train|val)-\d{5,}\.(bin|off|nb|dom)(\.tmp)?")

FRAMES: dict[str, tuple[bool, bool]] = {
    "bos_eos": (True, True),
    "bos": (True, False),
    "eos": (False, True),
    "none": (False, False),
}
"""What stands around the ids of a document: (the special `bos` before, the special `eos` behind)."""


@dataclass(frozen=True)
class Header:
    """What the first 4096 bytes of a `.bin` say."""

    n_tokens: int
    n_docs: int
    n_bytes: int
    n_vocab: int
    flags: int
    fingerprint: str
    shard: int

    @property
    def id_bytes(self) -> int:
        """Bytes of an id: 2 where n_vocab <= 65536, else 4."""
        return id_bytes(self.n_vocab)

    def to_bytes(self) -> bytes:
        """The header as it stands in the file."""
        fields = _FIELDS.pack(
            MAGIC,
            VERSION,
            self.id_bytes,
            self.n_tokens,
            self.n_docs,
            self.n_bytes,
            self.n_vocab,
            self.flags,
            bytes.fromhex(self.fingerprint),
            self.shard,
        )
        return fields.ljust(HEADER_BYTES, b"\0")

    @classmethod
    def parse(cls, data: bytes, source: str) -> Header:
        """Reads the header of the file `source`. Raises `CorruptShard`, `UnsupportedVersion`, naming the field."""
        if len(data) < HEADER_BYTES or data[:8] != MAGIC:
            raise corrupt(source, "it does not begin with the magic SLMSHARD and 4096 bytes of header")
        _, version, width, tokens, docs, n_bytes, n_vocab, flags, fingerprint, shard = _FIELDS.unpack_from(data)
        if version != VERSION:
            raise UnsupportedVersion(
                f"{source} has shard version {version}",
                limit=f"this package reads version {VERSION}",
                fix="read it with the release that wrote it, or pack again",
                path=source,
            )
        if width != id_bytes(n_vocab):
            raise corrupt(source, f"its header says {width} bytes an id for n_vocab {n_vocab}")
        if flags > BOS_FLAG | EOS_FLAG or any(data[_FIELDS.size : HEADER_BYTES]):
            raise corrupt(source, "its header sets flags or bytes that version 1 leaves zero")
        return cls(tokens, docs, n_bytes, n_vocab, flags, fingerprint.hex(), shard)


def corrupt(source: str, what: str, fix: str = "pack the corpus again, or fetch the file again") -> CorruptShard:
    """The error for a shard file that is damaged."""
    return CorruptShard(f"{source} is not a sound shard: {what}", where=source, fix=fix, path=source)


def id_bytes(n_vocab: int) -> int:
    """Bytes of an id in a shard."""
    return 2 if n_vocab <= 65536 else 4


def id_dtype(n_vocab: int) -> np.dtype[Any]:
    """The type of ids in a shard, little-endian."""
    import numpy as np

    return np.dtype("<u2" if id_bytes(n_vocab) == 2 else "<u4")


def frame_flags(frame: str) -> int:
    """The header's flags for a frame."""
    bos, eos = FRAMES[frame]
    return (BOS_FLAG if bos else 0) | (EOS_FLAG if eos else 0)


def shard_name(split: str, shard: int) -> str:
    """The name of a shard without its endings: `train-00000`."""
    return f"{split}-{shard:05d}"


def is_subset(name: str) -> bool:
    """Whether a folder of this name in a folder of shards is one of its subsets."""
    return re.fullmatch(r"subset-\d+", name) is not None


def is_shard_file(name: str) -> bool:
    """Whether a file of this name in a folder of shards is one of ours, whole or not."""
    return _SHARD_FILE.fullmatch(name) is not None
