"""`TokenFiles`: ids in another layout, written by `slmtok pack --output-format` or by another program.

A folder that slmtok wrote describes its files in `meta.json`, whose presence marks it as complete. Files of other
programs are recognised by names and first bytes; their tokenizer and documents are unknown. Documents are then split at
a special of the tokenizer, and their raw bytes are derived from the ids: exact only where the tokenizer is lossless and
no special stands inside a document.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import schema
from slmtok.checks import check_index
from slmtok.errors import OptionError, Setting
from slmtok.files import refuse_text
from slmtok.indexing import explains_indexing
from slmtok.json_files import parse, read_bounded
from slmtok.shards.format import (
    FRAMES,
    MAX_VOCAB,
    SPLITS,
    TOKENIZER,
    canonical_json,
    corrupt_file,
    special_id,
    unsupported,
    vocabulary_metadata,
)
from slmtok.shards.layouts import LAYOUTS, MAGIC_BYTES
from slmtok.strict_json import FaultError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.shards.reader import Shards
    from slmtok.tokenizer import Tokenizer

META = "meta.json"
META_FORMAT, META_VERSION = "slmtok-layout", 1
_MANIFEST_KEYS = ("dtype", "fingerprint", "frame", "n_vocab", "digest", "splits")
_SEARCH_IDS = 1 << 22


@explains_indexing
@dataclass(frozen=True)
class TokenFiles:
    """The files of a folder, or one of them. meta: the content of `meta.json`; None for files of other programs."""

    path: Path
    layout: str
    files: Mapping[str, tuple[Path, ...]]
    meta: Mapping[str, Any] | None

    @property
    def splits(self) -> list[str]:
        """The splits that have files: `train`, `val` or both."""
        return list(self.files)

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the tokenizer, if known."""
        return None if self.meta is None else str(self.meta["fingerprint"])

    @property
    def tokenizer(self) -> Path | None:
        """The tokenizer file in the folder, if it belongs to the files."""
        return None if self.meta is None else self.folder / TOKENIZER

    @property
    def folder(self) -> Path:
        """The folder of the files."""
        return self.path if self.path.is_dir() else self.path.parent

    def arrays(self, split: str, *, wide: bool = False) -> list[NDArray[Any]]:
        """The ids of each file of a split, mapped; `wide` as in `Layout.read`. Raises `CorruptFile`."""
        if split not in self.files:
            raise OptionError(
                (Setting("split", split), f" has no file in {str(self.path)!r}"),
                limit=f"splits: {', '.join(self.splits)}",
                fix=(Setting("split", self.splits[0]),),
                option="split",
            )
        if self.meta is not None:
            wide = self.meta["dtype"] == "u32"
        return [LAYOUTS[self.layout].read(path, wide) for path in self.files[split]]

    def documents(self, split: str, tokenizer: Tokenizer) -> DocumentList:
        """The documents of a split; without a delimiter each file is one document."""
        rows = self.arrays(split, wide=tokenizer.dtype.itemsize == 4)
        return DocumentList(rows, self._delimiter(rows, tokenizer))

    def _delimiter(self, rows: list[NDArray[Any]], tokenizer: Tokenizer) -> Delimiter | None:
        """The special that delimits documents. In files of other programs the first id tells, else the layout."""
        if self.meta is not None:
            begins, ends = FRAMES[self.meta["frame"]]
            content: dict[str, Any] = vocabulary_metadata(tokenizer)
            return Delimiter(special_id(content, "bos" if begins else "eos"), begins) if begins or ends else None
        own: dict[str, int] = dict(tokenizer.vocabulary.specials)
        known = [own[role] for role in ("bos", "eos") if role in own]
        first = next((int(ids[0]) for ids in rows if len(ids)), None)
        if first in known:
            return Delimiter(known[known.index(first)], begins=True)
        begins, _ = FRAMES[LAYOUTS[self.layout].frame]
        return Delimiter(known[0 if begins else -1], begins) if known else None


# --- documents in a row of ids ----------------------------------------------------------------------------------------


@explains_indexing
@dataclass(frozen=True)
class Delimiter:
    """The id that delimits documents, and whether it begins or ends them."""

    id: int
    begins: bool


def document_bounds(ids: NDArray[Any], delimiter: Delimiter | None) -> NDArray[np.int64]:
    """The start of each document, then the number of ids: int64[documents + 1]. Without a delimiter there is one.

    Ids before the first delimiter that begins documents, or behind the last one that ends them, are a document too:
    such files are cut wherever they were full.
    """
    import numpy as np

    found = [np.zeros(1, np.int64)]
    if delimiter is not None:
        for start in range(0, len(ids), _SEARCH_IDS):
            at = np.flatnonzero(ids[start : start + _SEARCH_IDS] == delimiter.id)
            found.append(at + (start + (not delimiter.begins)))
    bounds = np.append(np.concatenate(found), len(ids))
    kept: NDArray[np.int64] = bounds[np.append(bounds[1:] > bounds[:-1], True)]
    return kept


@dataclass(frozen=True)
class DocumentList:
    """Documents by number, across files."""

    rows: list[NDArray[Any]]
    delimiter: Delimiter | None

    @cached_property
    def _bounds(self) -> list[NDArray[np.int64]]:
        return [document_bounds(ids, self.delimiter) for ids in self.rows]

    def __len__(self) -> int:
        return sum(len(bounds) - 1 for bounds in self._bounds)

    def __getitem__(self, index: int) -> NDArray[Any]:
        """The ids of one document, its delimiters included, as a view. Raises `IndexError`, `WrongType`."""
        at = index = check_index(index, "documents[{}]", len(self))
        for ids, bounds in zip(self.rows, self._bounds, strict=True):
            if 0 <= at < len(bounds) - 1:
                return ids[int(bounds[at]) : int(bounds[at + 1])]
            at -= len(bounds) - 1
        raise IndexError(f"document {index} of {len(self)}")


# --- finding files ----------------------------------------------------------------------------------------------------


def open_token_files(path: str | os.PathLike[str]) -> TokenFiles | None:
    """The token files in a folder, or a single one; None where nothing is recognised.

    Raises `CorruptFile` for a `meta.json` or files that contradict each other, `UnsupportedVersion`.
    """
    refuse_text(os.fspath(path))
    where = Path(path)
    single = not where.is_dir()
    meta = read_meta(where.parent if single else where)
    if single:
        if meta is None or where.name not in meta["files"]:
            return _recognise(where, [where])
        return _described(where, {**meta, "files": [where.name]})
    if meta is not None:
        return _described(where, meta)
    return _recognise(where, sorted(entry for entry in where.iterdir() if entry.suffix in (".bin", ".npy")))


def _described(path: Path, meta: dict[str, Any]) -> TokenFiles:
    """The files that `meta.json` names."""
    folder = path if path.is_dir() else path.parent
    found: dict[str, list[Path]] = {}
    for name in meta["files"]:
        if not (folder / name).is_file():
            raise corrupt_file(folder / name, "meta.json names it, and it is missing")
        split = LAYOUTS[meta["layout"]].split_of(name, _head(folder / name))
        if split is None:
            raise corrupt_file(folder / name, f"it is not a file of the layout {meta['layout']}")
        found.setdefault(split, []).append(folder / name)
    return TokenFiles(path, meta["layout"], _by_split(found), meta)


def _recognise(path: Path, entries: Iterable[Path]) -> TokenFiles | None:
    """Files that another program wrote."""
    found: dict[str, dict[str, list[Path]]] = {}
    for entry in entries:
        head = _head(entry)
        for layout in LAYOUTS.values():
            split = layout.split_of(entry.name, head)
            if split is not None:
                found.setdefault(layout.name, {}).setdefault(split, []).append(entry)
    if len(found) > 1:
        fault = f"it holds files of several layouts: {', '.join(sorted(found))}"
        raise corrupt_file(path, fault, limit="one layout per folder; or name one of the files")
    for name, splits in found.items():
        return TokenFiles(path, name, _by_split(splits), None)
    return None


def _by_split(splits: dict[str, list[Path]]) -> dict[str, tuple[Path, ...]]:
    return {split: tuple(splits[split]) for split in SPLITS if split in splits}


def _head(path: Path) -> bytes:
    """The first bytes of a file; empty for one that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAGIC_BYTES)
    except OSError:
        return b""


# --- meta.json --------------------------------------------------------------------------------------------------------


def make_meta(shards: Shards, layout: str, digests: Mapping[str, str], chunk_size: int | None) -> bytes:
    """The `meta.json` for files that were written from these shards; `digests` is the sha256 of each by name."""
    return canonical_json(
        {
            "format": META_FORMAT,
            "version": META_VERSION,
            "layout": layout,
            "chunk_size": chunk_size,
            "files": list(digests),
            "sha256": digests,
            **{name: shards.manifest[name] for name in _MANIFEST_KEYS},
        }
    )


def read_meta(folder: Path) -> dict[str, Any] | None:
    """The content of `meta.json` in a folder; None where there is none of this format.

    `sha256` is empty where an older release wrote none. Raises `CorruptFile`, `UnsupportedVersion`.
    """
    path = folder / META
    try:
        data = read_bounded(path, "metadata")
    except (OSError, FaultError):
        return None
    if META_FORMAT.encode() not in data:
        return None
    try:
        content = parse(data, _VERSIONS)
        if content["version"] != META_VERSION:
            raise unsupported(f"{path} has version {schema.shown(content['version'])}", META_VERSION, path)
        _META(content, "")
    except FaultError as fault:
        raise corrupt_file(path, str(fault)) from None
    content.setdefault("sha256", {})
    if content["sha256"] and sorted(content["sha256"]) != sorted(content["files"]):
        raise corrupt_file(path, "sha256 has other names than files")
    return content


_VERSIONS = schema.table({"format": schema.choice(META_FORMAT), "version": schema.integer()}, is_open=True)
_SPLIT = {"tokens": schema.integer(), "docs": schema.integer(), "bytes": schema.integer(), "digest": schema.digest}
_META = schema.table(
    {
        "format": schema.text,
        "version": schema.integer(),
        "layout": schema.choice(*LAYOUTS),
        "chunk_size": schema.nullable(schema.integer(1)),
        "files": schema.array(schema.file_name),
        "dtype": schema.choice("u16", "u32"),
        "fingerprint": schema.digest,
        "frame": schema.choice(*FRAMES),
        "n_vocab": schema.integer(1, MAX_VOCAB),
        "digest": schema.digest,
        "splits": schema.table({}, dict.fromkeys(SPLITS, schema.table(_SPLIT, {"shards": schema.integer()}))),
    },
    {"sha256": schema.mapping(schema.digest, key=schema.file_name)},
)
