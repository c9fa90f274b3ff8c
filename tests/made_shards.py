"""Token shards written by hand after docs/formats/shards.md, and documents of random ids; without slmtok."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from slmmodel.data.source import ArraySource
from slmmodel.vocab import VocabMeta

FINGERPRINT = "ab" * 32
ROLES = {"unk": 0, "bos": 1, "eos": 2, "pad": 3, "sep": 4, "mask": 5}
N_VOCAB = 300
NBYTES = [0] * 16 + [1] * 256 + [2 + id % 5 for id in range(272, N_VOCAB)]


def vocab_json(**changes: Any) -> bytes:
    table = {
        "format": "slmtok-vocab",
        "version": 1,
        "n_vocab": N_VOCAB,
        "padded_vocab": 320,
        "specials": ROLES,
        "byte_lengths": NBYTES,
        "fingerprint": FINGERPRINT,
    }
    return json.dumps({**table, **changes}).encode()


def vocab(**changes: Any) -> VocabMeta:
    return VocabMeta.parse(vocab_json(**changes), source="vocab.json")


def documents(sizes: list[int], seed: int = 0) -> list[list[int]]:
    """Documents with these numbers of content ids between `<s>` and `</s>`."""
    rng = np.random.default_rng(seed)
    return [[1, *rng.integers(16, N_VOCAB, size).tolist(), 2] for size in sizes]


def raw_bytes(document: list[int]) -> int:
    return sum(NBYTES[id] for id in document)


def source(sizes: list[int], seed: int = 0) -> ArraySource:
    made = documents(sizes, seed)
    return ArraySource(made, [raw_bytes(document) for document in made])


def header(tokens: int, docs: int, raw: int, number: int, **changes: Any) -> bytes:
    fields = {
        "magic": b"SLMSHARD",
        "version": 1,
        "width": 2,
        "tokens": tokens,
        "docs": docs,
        "bytes": raw,
        "n_vocab": N_VOCAB,
        "flags": 3,
        "fingerprint": bytes.fromhex(FINGERPRINT),
        "number": number,
        **changes,
    }
    return struct.pack("<8sIIQQQII32sQ", *fields.values()).ljust(4096, b"\0")


def write_shard(folder: Path, name: str, made: list[list[int]], number: int, **changes: Any) -> dict[str, Any]:
    """Writes the files of one shard; returns its entry of the manifest. `changes` falsify the header."""
    frame = changes.get("flags", 3)
    stored = [doc[0 if frame & 1 else 1 : len(doc) if frame & 2 else -1] for doc in made]
    ids = [id for doc in stored for id in doc]
    raw = [raw_bytes(doc) for doc in made]
    offsets = np.cumsum([0] + [len(doc) for doc in stored])
    parts = {
        "bin": header(len(ids), len(made), sum(raw), number, **changes) + np.array(ids, "<u2").tobytes(),
        "off": offsets.astype("<u8").tobytes(),
        "nb": np.array(raw, "<u8").tobytes(),
    }
    for suffix, data in parts.items():
        (folder / f"{name}.{suffix}").write_bytes(data)
    digests = {suffix: hashlib.sha256(data).hexdigest() for suffix, data in parts.items()}
    split = name.split("-")[0]
    return {
        "name": name,
        "split": split,
        "tokens": len(ids),
        "docs": len(made),
        "bytes": sum(raw),
        "digest": digests["bin"],
        "sha256": digests,
    }


def write_data(folder: Path, splits: dict[str, list[list[list[int]]]], **changes: Any) -> Path:
    """A whole folder: for each split a list of shards, each a list of documents."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [
        write_shard(folder, f"{split}-{number:05d}", made, number, **changes)
        for split, shards in splits.items()
        for number, made in enumerate(shards)
    ]
    (folder / "vocab.json").write_bytes(vocab_json())
    (folder / "manifest.json").write_text(json.dumps(manifest(entries, frame=changes.get("flags", 3))))
    return folder


def manifest(entries: list[dict[str, Any]], domains: list[str] | None = None, *, frame: int = 3) -> dict[str, Any]:
    """A manifest of these shards; `frame` is the flags of their headers."""
    splits = {}
    for split in dict.fromkeys(entry["split"] for entry in entries):
        members = [entry for entry in entries if entry["split"] == split]
        sizes = {key: sum(entry[key] for entry in members) for key in ("tokens", "docs", "bytes")}
        splits[split] = {**sizes, "digest": digest_of(members), "shards": len(members)}
    return {
        "format": "slmtok-shards",
        "version": 1,
        "fingerprint": FINGERPRINT,
        "n_vocab": N_VOCAB,
        "dtype": "u16",
        "frame": ("none", "bos", "eos", "bos_eos")[frame & 3],
        "digest": digest_of(entries),
        "skipped": 0,
        "splits": splits,
        "shards": entries,
        "plan": {
            "format": "slmtok-pack-plan",
            "version": 1,
            "tokenizer": {"fingerprint": FINGERPRINT, "sha256": FINGERPRINT},
            "options": {},
            "sources": [],
            "split": {"rule": "none"},
        },
        **({"domains": domains} if domains else {}),
    }


def digest_of(entries: list[dict[str, Any]]) -> str:
    return f"{sum(int(entry['digest'], 16) for entry in entries) % (1 << 256):064x}"
