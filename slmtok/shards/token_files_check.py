"""`check_token_files`: whether ids in another layout are what their `meta.json` says, or at least are ids.

Files of ours are compared by sha256, number of ids and of documents; deep, every document is decoded, and the digest of
all of them is that of the corpus that was packed. Rows of one length leave ids out, so that only the first holds then.
Files that others wrote say nothing that they could be compared with: their size, their header and their ids are judged.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptFile, CorruptShard
from slmtok.files import file_digest
from slmtok.shards.header import FRAMES, VOCAB
from slmtok.shards.layout_meta import META
from slmtok.shards.vocabulary_of import special_id, vocabulary_metadata
from slmtok.vocabulary import render_metadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok.shards.token_files import Documents, TokenFiles
    from slmtok.tokenizer import Tokenizer

_CHUNK = 1 << 22


def check_token_files(found: TokenFiles, *, deep: bool = False) -> str:
    """One line about sound files. Raises `CorruptFile`, `CorruptShard`, `MissingInput`, each naming file and fault."""
    from slmtok.tokenizer import load

    if found.meta is None or found.tokenizer is None:
        return _strangers(found)
    tokenizer = load(found.tokenizer)
    if tokenizer.fingerprint != found.fingerprint:
        raise _mismatch(found.tokenizer, f"its fingerprint is {tokenizer.fingerprint[:12]}…, that of meta.json another")
    table = found.folder / VOCAB
    if not table.is_file() or table.read_bytes() != render_metadata(vocabulary_metadata(tokenizer)):
        raise _mismatch(table, "it is not what the tokenizer beside it says")
    lost = set(found.meta["splits"]) ^ set(found.splits)
    if lost and found.path.is_dir():
        raise _broken(found.path / META, f"it and the files disagree on whether there is a split {min(lost)!r}")
    for path in (path for files in found.files.values() for path in files):
        if found.meta["sha256"] and file_digest(path) != found.meta["sha256"].get(path.name):
            raise _broken(path, "its sha256 is not that of meta.json: it was changed")
    told = [_split(found, found.meta, split, tokenizer, deep=deep) for split in found.splits]
    rows = f", rows of {found.meta['chunk_size']:,}" if found.meta["chunk_size"] else ""
    return f"token files, layout {found.layout}{rows}; {'; '.join(told)}"


def _split(found: TokenFiles, meta: Any, split: str, tokenizer: Tokenizer, *, deep: bool) -> str:
    arrays = found.arrays(split)
    for path, ids in zip(found.files[split], arrays, strict=True):
        if ids.dtype.itemsize != int(meta["dtype"][1:]) // 8:
            raise _broken(path, f"its ids have {ids.dtype.itemsize} bytes, meta.json says {meta['dtype']}")
        if _largest(ids) >= meta["n_vocab"]:
            raise _broken(path, f"it holds id {_largest(ids)}, n_vocab is {meta['n_vocab']}")
    held, wanted = sum(map(len, arrays)), meta["splits"].get(split, {"tokens": 0, "docs": 0})
    told = f"{held:,} ids for {split}"
    if found.path.is_file():
        return told
    source = found.files[split][0]
    if meta["chunk_size"]:
        if held % meta["chunk_size"] or held > wanted["tokens"]:
            raise _broken(source, f"{held:,} ids are no rows of {meta['chunk_size']:,} out of {wanted['tokens']:,}")
        return told
    if held != wanted["tokens"]:
        raise _broken(source, f"the split holds {held:,} ids, meta.json says {wanted['tokens']:,}")
    if meta["frame"] == "none":
        return f"{told}, documents not told apart"
    documents = found.documents(split, tokenizer)
    if len(documents) != wanted["docs"]:
        raise _broken(source, f"the split holds {len(documents):,} documents, meta.json says {wanted['docs']:,}")
    if deep and _digest(documents, tokenizer, meta["frame"], source) != wanted["digest"]:
        raise _broken(source, "its documents are not those whose digest meta.json has")
    return f"{told}, {len(documents):,} documents{', decoded and hashed' if deep else ''}"


def _digest(documents: Documents, tokenizer: Tokenizer, frame: str, source: Path) -> str:
    """The digest of the documents' text. Raises `CorruptFile` for one without its frame."""
    begins, ends = FRAMES[frame]
    content = vocabulary_metadata(tokenizer)
    bos, eos = special_id(content, "bos"), special_id(content, "eos")
    total = 0
    for index in range(len(documents)):
        ids = documents[index]
        if (begins and int(ids[0]) != bos) or (ends and int(ids[-1]) != eos):
            raise _broken(source, f"document {index:,} of the split is not framed by {frame}")
        text = tokenizer.decode_bytes(ids[ids < tokenizer.n_vocab], skip_special=True)
        total += int.from_bytes(hashlib.sha256(text).digest(), "big")
    return f"{total % (1 << 256):064x}"


def _strangers(found: TokenFiles) -> str:
    """What can be said of files that others wrote: that they are whole, and how far their ids go."""
    told = []
    for split in found.splits:
        arrays = found.arrays(split)
        largest = max(map(_largest, arrays))
        told.append(f"{sum(map(len, arrays)):,} ids for {split}, the largest {largest}")
    return f"token files, layout {found.layout}, by another program; {'; '.join(told)}; nothing to compare them with"


def _largest(ids: NDArray[Any]) -> int:
    return max((int(ids[start : start + _CHUNK].max()) for start in range(0, len(ids), _CHUNK)), default=-1)


def _broken(path: Path, what: str) -> CorruptFile:
    return CorruptFile(
        f"{path} is not sound: {what}",
        where=str(path),
        fix="pack the corpus again, or fetch the file again",
        path=str(path),
    )


def _mismatch(path: Path, what: str) -> CorruptShard:
    return CorruptShard(
        f"{path} does not belong to the ids: {what}", where=str(path), fix="pack the corpus again", path=str(path)
    )
