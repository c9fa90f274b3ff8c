"""`TokenFiles`: ids in another layout, as `slmtok pack --output-format` or another program wrote them, read as documents.

A folder of ours says in `meta.json` what lies in it. What others wrote is told by names and first bytes, and knows
neither its tokenizer nor its documents: those are cut where a special of the tokenizer stands that is given.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptFile, InvalidOption
from slmtok.shards.borders import Cut, borders
from slmtok.shards.header import FRAMES, SPLITS, TOKENIZER
from slmtok.shards.layout_meta import read_meta
from slmtok.shards.layouts import LAYOUTS
from slmtok.shards.layouts.base import HEAD

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.tokenizer import Tokenizer


@dataclass(frozen=True)
class TokenFiles:
    """The files of a folder, or one of them alone. `meta`: what `meta.json` says; None where others wrote them."""

    path: Path
    layout: str
    files: Mapping[str, tuple[Path, ...]]
    meta: Mapping[str, Any] | None

    @property
    def splits(self) -> list[str]:
        """`train`, `val`, or one of them."""
        return list(self.files)

    @property
    def fingerprint(self) -> str | None:
        """That of the tokenizer, where it is written down."""
        return None if self.meta is None else str(self.meta["fingerprint"])

    @property
    def tokenizer(self) -> Path | None:
        """The tokenizer file beside the files, where it is known to be theirs."""
        return None if self.meta is None else self.folder / TOKENIZER

    @property
    def folder(self) -> Path:
        """The folder that the files lie in."""
        return self.path if self.path.is_dir() else self.path.parent

    def arrays(self, split: str, *, wide: bool = False) -> list[NDArray[Any]]:
        """The ids of each file of a split, mapped; `wide` as in `Layout.read`. Raises `CorruptFile`."""
        if split not in self.files:
            raise InvalidOption(
                f"split={split!r} has no file in {str(self.path)!r}",
                limit=f"splits: {', '.join(self.splits)}",
                fix=f"split={self.splits[0]!r}",
                option="split",
            )
        if self.meta is not None:
            wide = self.meta["dtype"] == "u32"
        return [LAYOUTS[self.layout].read(path, wide).ids for path in self.files[split]]

    def documents(self, split: str, tokenizer: Tokenizer) -> Documents:
        """The documents of a split; all of a file is one where none can be told apart."""
        rows = self.arrays(split, wide=tokenizer.dtype.itemsize == 4)
        return Documents(rows, self._cut(rows, tokenizer))

    def _cut(self, rows: list[NDArray[Any]], tokenizer: Tokenizer) -> Cut | None:
        """What tells documents apart. Of others' files, the first id says whether a special begins documents."""
        from slmtok.shards.vocabulary_of import special_id, vocabulary_metadata

        if self.meta is not None:
            begins, ends = FRAMES[self.meta["frame"]]
            content: dict[str, Any] = vocabulary_metadata(tokenizer)
            return Cut(special_id(content, "bos" if begins else "eos"), begins) if begins or ends else None
        own: dict[str, int] = dict(tokenizer.vocabulary.specials)
        known = [own[role] for role in ("bos", "eos") if role in own]
        first = next((int(ids[0]) for ids in rows if len(ids)), None)
        if first in known:
            return Cut(known[known.index(first)], begins=True)
        begins, _ = FRAMES[LAYOUTS[self.layout].frame]
        return Cut(known[0 if begins else -1], begins) if known else None


@dataclass(frozen=True)
class Documents:
    """Documents by number, through several files. `cut` None: they cannot be told apart."""

    rows: list[NDArray[Any]]
    cut: Cut | None

    @cached_property
    def _borders(self) -> list[NDArray[np.int64]]:
        return [borders(ids, self.cut) for ids in self.rows]

    def __len__(self) -> int:
        return sum(len(bounds) - 1 for bounds in self._borders)

    def __getitem__(self, index: int) -> NDArray[Any]:
        """The ids of one document, its frame included, as a view. Raises `IndexError`."""
        at = index
        for ids, bounds in zip(self.rows, self._borders, strict=True):
            if 0 <= at < len(bounds) - 1:
                return ids[int(bounds[at]) : int(bounds[at + 1])]
            at -= len(bounds) - 1
        raise IndexError(f"document {index} of {len(self)}")


def open_token_files(path: str | os.PathLike[str]) -> TokenFiles | None:
    """What lies in a folder, or a file, as ids of another layout; None where nothing there is known to be any.

    Raises `CorruptFile` for a `meta.json` or files that contradict each other, `UnsupportedVersion`.
    """
    where = Path(path)
    alone = not where.is_dir()
    meta = read_meta(where.parent if alone else where)
    if alone:
        if meta is None or where.name not in meta["files"]:
            return _recognised(where, [where])
        return _ours(where, {**meta, "files": [where.name]})
    if meta is not None:
        return _ours(where, meta)
    return _recognised(where, sorted(entry for entry in where.iterdir() if entry.suffix in (".bin", ".npy")))


def _ours(path: Path, meta: dict[str, Any]) -> TokenFiles:
    folder = path if path.is_dir() else path.parent
    found: dict[str, list[Path]] = {}
    for name in meta["files"]:
        if not (folder / name).is_file():
            raise _contradiction(folder / name, "meta.json names it, and it is missing")
        split = LAYOUTS[meta["layout"]].split_of(name, _head(folder / name))
        if split is None:
            raise _contradiction(folder / name, f"it is no file of the layout {meta['layout']}")
        found.setdefault(split, []).append(folder / name)
    return TokenFiles(path, meta["layout"], _in_order(found), meta)


def _recognised(path: Path, entries: Iterable[Path]) -> TokenFiles | None:
    """Files that another program wrote."""
    found: dict[str, dict[str, list[Path]]] = {}
    for entry in entries:
        head = _head(entry)
        for layout in LAYOUTS.values():
            split = layout.split_of(entry.name, head)
            if split is not None:
                found.setdefault(layout.name, {}).setdefault(split, []).append(entry)
    if len(found) > 1:
        raise CorruptFile(
            f"{str(path)!r} holds files of several layouts: {', '.join(sorted(found))}",
            where=str(path),
            limit="one layout a folder",
            fix="name one of the files",
            path=str(path),
        )
    for name, splits in found.items():
        return TokenFiles(path, name, _in_order(splits), None)
    return None


def _in_order(splits: dict[str, list[Path]]) -> dict[str, tuple[Path, ...]]:
    return {split: tuple(splits[split]) for split in SPLITS if split in splits}


def _head(path: Path) -> bytes:
    """The first bytes of a file; none of what cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


def _contradiction(path: Path, what: str) -> CorruptFile:
    return CorruptFile(f"{path} is not sound: {what}", where=str(path), fix="pack the corpus again", path=str(path))
