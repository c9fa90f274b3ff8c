"""`check` and `check_token_files`: whether packed data is valid. They read every byte.

Deep checks decode each document with the tokenizer in the folder, and compare its size and digest. Token files of
slmtok are compared with `meta.json`; rows of one length leave ids out, so their documents are not compared. Files of
other programs have nothing to compare with: only size, header and ids are checked.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptShard, MissingInput, SlmtokError
from slmtok.files import file_digest, read_file
from slmtok.shards.format import (
    FRAMES,
    TOKENIZER,
    VOCAB,
    corrupt,
    corrupt_file,
    refuse_link,
    special_id,
    vocabulary_metadata,
)
from slmtok.shards.reader import Shard, Shards, open_shards
from slmtok.shards.token_files import META
from slmtok.vocab_json import render_metadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok.shards.token_files import TokenFiles
    from slmtok.tokenizer import Tokenizer

_BLOCK_IDS = 1 << 22
_MAX_READ = 20
"""Files near packed data among which their lost tokenizer is looked for."""


def check(path: str | os.PathLike[str], *, deep: bool = False) -> str:
    """One line about valid data. Raises `CorruptShard`, `CorruptFile`, `MissingInput`, each naming file and fault."""
    shards = open_shards(path)
    tokenizer = _load_tokenizer(shards.folder, shards.fingerprint)
    metadata = vocabulary_metadata(tokenizer)
    for members in shards.shards.values():
        for shard in members:
            _check_shard(shard)
            _check_delimiters(shard, metadata, shards.manifest["frame"])
            _check_lengths(shard, metadata)
            if deep:
                _check_documents(shard, tokenizer, shards.manifest["frame"])
    splits = ", ".join(f"{shards.n_docs(name):,} documents for {name}" for name in shards.splits)
    digests = "every document decoded and hashed" if deep else "all digests match"
    return f"token shards, {_tokens(shards):,} ids; {splits}; {digests}"


def packed_tokenizer(folder: Path, fingerprint: str | None) -> Tokenizer:
    """The tokenizer in a folder of packed data, which has that fingerprint.

    Raises `MissingInput` where it is lost, `CorruptShard` where another has its name, and what loading raises.
    """
    from slmtok.tokenizer import read_tokenizer

    path = folder / TOKENIZER
    refuse_link(path)
    if not path.exists():
        raise MissingInput(
            f"the tokenizer {str(path)!r} of the packed data is lost",
            where=str(folder),
            limit=f"fingerprint {fingerprint}" if fingerprint else None,
            fix=_copy_of_tokenizer(path, fingerprint),
            path=str(path),
        )
    tokenizer = read_tokenizer(path)
    if fingerprint is not None and tokenizer.fingerprint != fingerprint:
        fault = f"its fingerprint {tokenizer.fingerprint[:12]}… is not that of the packed data"
        raise corrupt(path, fault, kind="tokenizer for this folder")
    return tokenizer


def _copy_of_tokenizer(path: Path, fingerprint: str | None) -> str:
    """How the lost tokenizer gets back to its path: the command, where a file near has the fingerprint."""
    from slmtok.tokenizer import read_tokenizer

    near = sorted({*Path().glob("*.json"), *path.parent.parent.glob("*.json")})
    for file in near[:_MAX_READ]:
        with suppress(SlmtokError):
            if read_tokenizer(file).fingerprint == fingerprint:
                return f"cp {quote(str(file))} {quote(str(path))}"
    return f"copy the tokenizer of that fingerprint, which slmtok info FILE shows, to {quote(str(path))}"


def _load_tokenizer(folder: Path, fingerprint: str | None) -> Tokenizer:
    """The tokenizer of packed data, its `vocab.json` checked. Raises `CorruptShard`, and what loading raises."""
    tokenizer = packed_tokenizer(folder, fingerprint)
    refuse_link(folder / VOCAB)
    table = folder / VOCAB
    if not table.is_file():
        fix = f"slmtok vocab {quote(str(folder / TOKENIZER))} --metadata -o {quote(str(table))}"
        raise CorruptShard(f"{table} is missing", where=str(folder), fix=fix, path=str(table))
    if read_file(table) != render_metadata(vocabulary_metadata(tokenizer)):
        raise corrupt(table, "it does not match the tokenizer beside it", kind="vocab.json for this folder")
    return tokenizer


def _tokens(shards: Shards) -> int:
    return sum(shards.n_tokens(name) for name in shards.splits)


def _check_shard(shard: Shard) -> None:
    """Checks digests of the files, range of ids, and the sum of raw bytes; `offsets` checks their order."""
    import numpy as np

    for suffix, expected in shard.entry["sha256"].items():
        if file_digest(shard.path(suffix)) != expected:
            raise corrupt(shard.path(suffix), "its sha256 is not the manifest's")
    assert len(shard.offsets)
    if int(shard.nbytes.sum(dtype=np.uint64)) != shard.header.n_bytes:
        raise corrupt(shard.path("nb"), f"its lengths do not add up to {shard.header.n_bytes:,} bytes")
    if len(shard.ids) and int(shard.ids.max()) >= shard.n_vocab:
        raise corrupt(shard.path("bin"), f"it holds id {int(shard.ids.max())}, n_vocab is {shard.n_vocab}")


def _check_delimiters(shard: Shard, metadata: dict[str, Any], frame: str) -> None:
    """Checks that each document begins and ends with the special tokens that `frame` names."""
    import numpy as np

    begins, ends = FRAMES[frame]
    firsts, lasts = shard.offsets[:-1].astype(np.int64), shard.offsets[1:].astype(np.int64) - 1
    lacks = lasts - firsts + 1 < begins + ends
    if not lacks.any():
        lacks |= begins and shard.ids[firsts] != special_id(metadata, "bos")
        lacks |= ends and shard.ids[lasts] != special_id(metadata, "eos")
    if lacks.any():
        fault = f"document {int(lacks.argmax()):,} lacks the delimiters that frame {frame!r} names"
        raise corrupt(shard.path("bin"), fault)


def _check_lengths(shard: Shard, metadata: dict[str, Any]) -> None:
    """Checks that the ids of each document have its number of raw bytes."""
    import numpy as np

    lengths = np.asarray(metadata["byte_lengths"], np.int64)
    offsets = shard.offsets.astype(np.int64)
    bytes_before = np.zeros(len(offsets), np.int64)
    done = 0
    for start in range(0, len(shard.ids), _BLOCK_IDS):
        sums = done + np.cumsum(lengths[shard.ids[start : start + _BLOCK_IDS]])
        first, last = np.searchsorted(offsets, (start, start + len(sums)), side="right")
        bytes_before[first:last] = sums[offsets[first:last] - start - 1]
        done = int(sums[-1])
    found = np.diff(bytes_before).astype(np.uint64)
    for index in np.flatnonzero(found != shard.nbytes)[:1].tolist():
        fault = f"document {index:,} has {int(found[index]):,} bytes, not {int(shard.nbytes[index]):,}"
        raise corrupt(shard.path("nb"), fault)


def _check_texts(
    documents: Iterable[NDArray[Any]], tokenizer: Tokenizer, frame: str, invalid: Callable[[str], Exception]
) -> Iterator[bytes]:
    """The text of each document. Raises `invalid` for one without the delimiters that `frame` names."""
    begins, ends = FRAMES[frame]
    content = vocabulary_metadata(tokenizer)
    bos, eos = special_id(content, "bos"), special_id(content, "eos")
    for index, ids in enumerate(documents):
        complete = len(ids) >= begins + ends
        if not complete or (begins and int(ids[0]) != bos) or (ends and int(ids[-1]) != eos):
            raise invalid(f"document {index:,} lacks the delimiters that frame {frame!r} names")
        yield tokenizer.decode_bytes(ids[begins : len(ids) - ends], skip_special=True)


def _digest(texts: Iterable[bytes]) -> str:
    """The digest of documents: the sum modulo 2^256 of the sha256 of each."""
    return f"{sum(int.from_bytes(hashlib.sha256(text).digest(), 'big') for text in texts) % (1 << 256):064x}"


def _check_documents(shard: Shard, tokenizer: Tokenizer, frame: str) -> None:
    def texts() -> Iterator[bytes]:
        documents = map(shard.document, range(shard.header.n_docs))
        invalid = partial(corrupt, shard.path("bin"))
        for index, text in enumerate(_check_texts(documents, tokenizer, frame, invalid)):
            if len(text) != int(shard.nbytes[index]):
                fault = f"document {index:,} has {len(text):,} bytes, not {int(shard.nbytes[index]):,}"
                raise corrupt(shard.path("nb"), fault)
            yield text

    if _digest(texts()) != shard.entry["digest"]:
        raise corrupt(shard.path("bin"), "the digest of its documents is not the manifest's")


def check_token_files(found: TokenFiles, *, deep: bool = False) -> str:
    """One line about valid files. Raises `CorruptFile`, `CorruptShard`, `MissingInput`, each naming file and fault."""
    if found.meta is None:
        return _check_unknown(found)
    tokenizer = _load_tokenizer(found.folder, found.fingerprint)
    missing = set(found.meta["splits"]) ^ set(found.splits)
    if missing and found.path.is_dir():
        raise corrupt_file(found.path / META, f"it and the files disagree on whether there is a split {min(missing)!r}")
    for path in (path for files in found.files.values() for path in files):
        if found.meta["sha256"] and file_digest(path) != found.meta["sha256"].get(path.name):
            raise corrupt_file(path, "its sha256 is not that of meta.json")
    summaries = [_check_split(found, found.meta, split, tokenizer, deep=deep) for split in found.splits]
    rows = f", rows of {found.meta['chunk_size']:,}" if found.meta["chunk_size"] else ""
    return f"token files, layout {found.layout}{rows}; {'; '.join(summaries)}"


def _check_split(found: TokenFiles, meta: Any, split: str, tokenizer: Tokenizer, *, deep: bool) -> str:
    arrays = found.arrays(split)
    for path, ids in zip(found.files[split], arrays, strict=True):
        if ids.dtype.itemsize != int(meta["dtype"][1:]) // 8:
            raise corrupt_file(path, f"its ids have {ids.dtype.itemsize} bytes, meta.json says {meta['dtype']}")
        if _max_id(ids) >= meta["n_vocab"]:
            raise corrupt_file(path, f"it holds id {_max_id(ids)}, n_vocab is {meta['n_vocab']}")
    n_ids, expected = sum(map(len, arrays)), meta["splits"].get(split, {"tokens": 0, "docs": 0})
    summary = f"{n_ids:,} ids for {split}"
    if found.path.is_file():
        return summary
    source = found.files[split][0]
    if meta["chunk_size"]:
        if n_ids % meta["chunk_size"] or n_ids > expected["tokens"]:
            raise corrupt_file(
                source, f"{n_ids:,} ids are not rows of {meta['chunk_size']:,} out of {expected['tokens']:,}"
            )
        return summary
    if n_ids != expected["tokens"]:
        raise corrupt_file(source, f"the split holds {n_ids:,} ids, meta.json says {expected['tokens']:,}")
    if meta["frame"] == "none":
        return f"{summary}, documents without delimiter"
    documents = found.documents(split, tokenizer)
    if len(documents) != expected["docs"]:
        raise corrupt_file(source, f"the split holds {len(documents):,} documents, meta.json says {expected['docs']:,}")
    if deep:
        rows = map(documents.__getitem__, range(len(documents)))
        texts = _check_texts(rows, tokenizer, meta["frame"], partial(corrupt_file, source))
        if _digest(texts) != expected["digest"]:
            raise corrupt_file(source, "the digest of its documents is not that of meta.json")
    return f"{summary}, {len(documents):,} documents{', decoded and hashed' if deep else ''}"


def _check_unknown(found: TokenFiles) -> str:
    """One line about files of another program: their number of ids and the largest id."""
    summaries = []
    for split in found.splits:
        arrays = found.arrays(split)
        max_id = max(map(_max_id, arrays))
        summaries.append(f"{sum(map(len, arrays)):,} ids for {split}, the largest {max_id}")
    return f"token files, layout {found.layout}, by another program; {'; '.join(summaries)}; nothing to compare with"


def _max_id(ids: NDArray[Any]) -> int:
    return max((int(ids[start : start + _BLOCK_IDS].max()) for start in range(0, len(ids), _BLOCK_IDS)), default=-1)
