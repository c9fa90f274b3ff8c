"""`check`: whether a packed folder is sound. Opening finds files that do not fit; here every byte is looked at.

Deep: each document is decoded with the tokenizer in the folder, and its bytes are counted and hashed.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptShard
from slmtok.files import file_digest
from slmtok.shards.header import FRAMES, TOKENIZER, VOCAB, corrupt
from slmtok.shards.reader import Shard, Shards, open_shards
from slmtok.shards.vocabulary_of import special_id, vocabulary_metadata
from slmtok.vocabulary import render_metadata

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer


def check(path: str | os.PathLike[str], *, deep: bool = False) -> str:
    """One line about sound data. Raises `CorruptShard`, `CorruptFile`, `MissingInput`, each naming file and fault."""
    from slmtok.tokenizer import load

    shards = open_shards(path)
    folder = Path(path)
    tokenizer = load(folder / TOKENIZER)
    if tokenizer.fingerprint != shards.fingerprint:
        raise _mismatch(folder / TOKENIZER, f"its fingerprint is {tokenizer.fingerprint[:12]}…, the manifest's another")
    content = vocabulary_metadata(tokenizer)
    if (folder / VOCAB).read_bytes() != render_metadata(content):
        raise _mismatch(folder / VOCAB, "it is not what the tokenizer beside it says")
    for members in shards.shards.values():
        for shard in members:
            _check_shard(shard)
            if deep:
                _check_documents(shard, tokenizer, content, shards.manifest["frame"])
    told = ", ".join(f"{shards.n_docs(name):,} documents for {name}" for name in shards.splits)
    digests = "every document decoded and hashed" if deep else "all digests right"
    return f"token shards, {_tokens(shards):,} ids; {told}; {digests}"


def _tokens(shards: Shards) -> int:
    return sum(shards.n_tokens(name) for name in shards.splits)


def _mismatch(path: Path, what: str) -> CorruptShard:
    return CorruptShard(
        f"{path} does not belong to the shards: {what}", where=str(path), fix="pack the corpus again", path=str(path)
    )


def _check_shard(shard: Shard) -> None:
    """Digests of the files, order of the offsets, ids below n_vocab, raw bytes that add up."""
    import numpy as np

    for ending, wanted in shard.entry["sha256"].items():
        if file_digest(shard.path(ending)) != wanted:
            raise corrupt(str(shard.path(ending)), "its sha256 is not the manifest's: it was changed")
    offsets = shard.offsets
    if offsets[0] != 0 or int(offsets[-1]) != shard.header.n_tokens or bool((offsets[1:] < offsets[:-1]).any()):
        raise corrupt(str(shard.path("off")), "its offsets do not ascend from 0 to the number of ids")
    if int(shard.nbytes.sum(dtype=np.uint64)) != shard.header.n_bytes:
        raise corrupt(str(shard.path("nb")), f"its lengths do not add up to {shard.header.n_bytes:,} bytes")
    if len(shard.ids) and int(shard.ids.max()) >= shard.n_vocab:
        raise corrupt(str(shard.path("bin")), f"it holds id {int(shard.ids.max())}, n_vocab is {shard.n_vocab}")


def _check_documents(shard: Shard, tokenizer: Tokenizer, content: dict[str, Any], frame: str) -> None:
    begin, end = FRAMES[frame]
    bos, eos = special_id(content, "bos"), special_id(content, "eos")
    total = 0
    for index in range(shard.header.n_docs):
        ids = shard.document(index)
        inner = ids[begin : len(ids) - end]
        if (begin and int(ids[0]) != bos) or (end and int(ids[-1]) != eos):
            raise corrupt(str(shard.path("bin")), f"document {index:,} is not framed by {frame}")
        text = tokenizer.decode_bytes(inner, skip_special=True)
        if len(text) != int(shard.nbytes[index]):
            raise corrupt(
                str(shard.path("nb")),
                f"document {index:,} has {len(text):,} bytes, {int(shard.nbytes[index]):,} are written down",
            )
        total += int.from_bytes(hashlib.sha256(text).digest(), "big")
    if f"{total % (1 << 256):064x}" != shard.entry["digest"]:
        raise corrupt(str(shard.path("bin")), "its documents are not those whose digest the manifest has")
