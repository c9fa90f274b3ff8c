"""Nested subsets for data-size ablations: the training documents with the smallest keys.

The key of a document is a part of its sha256, so the same documents are chosen under any tokenizer, order and number of
threads. It is computed from the decoded shards; the corpus is not read again. Equal documents have equal keys; the
earlier one comes first.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import atomic
from slmtok.errors import OptionError, Setting
from slmtok.shards import folder
from slmtok.shards.format import (
    FRAMES,
    MANIFEST,
    TOKENIZER,
    VOCAB,
    Header,
    canonical_json,
    frame_flags,
    manifest_totals,
)
from slmtok.shards.journal import sync_folder
from slmtok.shards.reader import Shard, Shards
from slmtok.shards.writer import Encoded, ShardWriter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.tokenizer import Tokenizer


def subset_folder(whole: Path, number: int) -> Path:
    """The folder of the subset of `number` documents."""
    return whole / f"subset-{number}"


def check_subset(number: int, available: int, where: str, others: Sequence[int] = ()) -> None:
    """Raises `OptionError` for a subset of more documents than there are. others: numbers that are asked for too."""
    if number > available:
        kept = [*(each for each in others if each < available), available]
        raise OptionError(
            f"a subset of {number:,} documents, and there are {available:,} for training",
            where=where,
            fix=(Setting("subset", kept), ", or fewer") if available else "leave it out, or a longer corpus",
            option="subset",
        )


def write_subsets(shards: Shards, tokenizer: Tokenizer, numbers: Sequence[int]) -> dict[int, str]:
    """Writes a folder `subset-N` in that of the shards for each number of documents; complete ones stay.

    Raises `OptionError` where there are fewer documents.
    """
    import numpy as np

    if not numbers:
        return {}
    check_subset(max(numbers), shards.n_docs("train"), f"{shards.folder}, which is complete and stays", numbers)
    keys, digests = _keys(shards, tokenizer)
    order = np.argsort(keys, kind="stable")
    found: dict[int, str] = {}
    for number in numbers:
        path = subset_folder(shards.folder, number)
        folder.make_inner(path)
        if not (path / MANIFEST).exists():
            _write(path, shards, np.sort(order[:number]), digests, number)
        found[number] = str(path)
    return found


def _keys(shards: Shards, tokenizer: Tokenizer) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """The key and the sha256 of each training document, in order."""
    import numpy as np

    begin, end = FRAMES[shards.manifest["frame"]]
    rows = bytearray()
    for shard in shards.shards["train"]:
        for index in range(shard.header.n_docs):
            ids = shard.document(index)
            rows += hashlib.sha256(tokenizer.decode_bytes(ids[begin : len(ids) - end])).digest()
    digests = np.frombuffer(rows, dtype=np.uint8).reshape(-1, 32)
    return digests[:, 8:16].copy().view("<u8").reshape(-1), digests


def _write(path: Path, shards: Shards, chosen: NDArray[np.int64], digests: NDArray[np.uint8], number: int) -> None:
    """One subset: the chosen documents of each shard in a shard of its own; validation as it is.

    It is written beside its place and moved there, the manifest last.
    """
    atomic.remove_stale(path)
    part = atomic.temporary_path(path)
    part.mkdir()
    try:
        _fill(part, shards, chosen, digests, number)
        names = sorted((file.name for file in part.iterdir()), key=lambda name: (name == MANIFEST, name))
        for name in names:
            (part / name).replace(path / name)
        sync_folder(path)
    finally:
        shutil.rmtree(part)


def _fill(path: Path, shards: Shards, chosen: NDArray[np.int64], digests: NDArray[np.uint8], number: int) -> None:
    """The files of a subset in a new folder, synced."""
    entries: list[dict[str, Any]] = []
    first = 0
    for shard in shards.shards["train"]:
        end = first + shard.header.n_docs
        inside = chosen[(chosen >= first) & (chosen < end)]
        if len(inside):
            entries.append(_copy(path, shard, inside - first, digests[first:end], len(entries), shards))
        first = end
    for shard in shards.shards.get("val", []):
        for suffix in shard.entry["sha256"]:
            atomic.copy_synced(shard.path(suffix), path / shard.path(suffix).name)
        entries.append(shard.entry)
    for name in (VOCAB, TOKENIZER):
        folder.replace(path / name, (shards.folder / name).read_bytes())
    folder.replace(path / MANIFEST, canonical_json({**shards.manifest, **manifest_totals(entries), "subset": number}))


def _copy(
    path: Path, shard: Shard, index: NDArray[np.int64], digests: NDArray[np.uint8], number: int, shards: Shards
) -> dict[str, Any]:
    """A shard of the documents `index` of another; `digests` are those of all its documents."""
    import numpy as np

    target = ShardWriter(path, "train", number, id_bytes=shard.header.id_bytes, domains=shard.domains is not None)
    documents = Encoded(shard.ids, shard.offsets.astype(np.int64), shard.nbytes, digests)
    target.open()
    target.append(documents.select(index, shard.domains))
    flags = frame_flags(shards.manifest["frame"])
    return target.close(Header(0, 0, 0, shards.manifest["n_vocab"], flags, shards.fingerprint, 0))
