"""Reading a folder of shards: memory maps, documents by number, and every cheap check.

`check` reads every byte; opening does not. Nothing here needs a tokenizer.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from slmtok.checks import check_index, check_path
from slmtok.errors import CorruptFile, OptionError, Setting, SlmtokError, WrongType
from slmtok.file_content import HEAD_BYTES, content_of
from slmtok.file_kinds import MANIFEST as MANIFEST_KIND
from slmtok.file_kinds import NAMES, SHARD, kind_of_file
from slmtok.files import missing_input, read_file, refuse_text
from slmtok.foreign_options import any_of, closest, nearest_name
from slmtok.indexing import explains_indexing
from slmtok.path_arguments import free_name
from slmtok.shards.format import (
    HEADER_BYTES,
    MANIFEST,
    SPLITS,
    TOKENIZER,
    Header,
    corrupt,
    file_sizes,
    frame_flags,
    id_dtype,
    map_array,
    missing_file,
    read_manifest,
    refuse_link,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@explains_indexing
@dataclass(frozen=True)
class Shard:
    """One shard. Its arrays are read-only memory maps of its files."""

    folder: Path
    entry: dict[str, Any]
    n_vocab: int

    @property
    def name(self) -> str:
        """`train-00000`."""
        return str(self.entry["name"])

    def path(self, suffix: str) -> Path:
        """One of its files."""
        return self.folder / f"{self.name}.{suffix}"

    @cached_property
    def header(self) -> Header:
        """The header of the `.bin`. Raises `CorruptShard`, `UnsupportedVersion`."""
        refuse_link(self.path("bin"))
        try:
            return Header.read(self.path("bin"))
        except FileNotFoundError:
            raise missing_file(self.path("bin")) from None
        except OSError as error:
            raise corrupt(self.path("bin"), f"it cannot be read ({error.strerror})") from error

    def check(self, fingerprint: str, flags: int) -> None:
        """Raises `CorruptShard` unless manifest, header and the sizes of the files agree."""
        header, source = self.header, self.path("bin")
        expected = {
            "n_tokens": (header.n_tokens, self.entry["tokens"]),
            "n_docs": (header.n_docs, self.entry["docs"]),
            "n_bytes": (header.n_bytes, self.entry["bytes"]),
            "n_vocab": (header.n_vocab, self.n_vocab),
            "fingerprint": (header.fingerprint, fingerprint),
            "flags": (header.flags, flags),
            "shard": (header.shard, int(self.name.rpartition("-")[2])),
        }
        for field, (says, wanted) in expected.items():
            if says != wanted:
                raise corrupt(source, f"its header says {field} {says}, the manifest {wanted}")
        sizes = file_sizes(header.n_tokens, header.n_docs, header.id_bytes)
        for suffix in self.entry["sha256"]:
            path = self.path(suffix)
            refuse_link(path)
            if not path.is_file():
                raise missing_file(path)
            size = path.stat().st_size
            if size != sizes[suffix]:
                raise corrupt(path, f"it has {size:,} bytes; by the header of the shard they are {sizes[suffix]:,}")

    @cached_property
    def ids(self) -> NDArray[Any]:
        """All ids, shape (n_tokens,), uint16 or uint32."""
        return map_array(self.path("bin"), id_dtype(self.n_vocab), self.header.n_tokens, HEADER_BYTES)

    @cached_property
    def offsets(self) -> NDArray[np.uint64]:
        """The first id of each document, then the number of ids: shape (n_docs + 1,), uint64.

        Raises `CorruptShard` where they do not ascend from 0 to the number of ids: a document would have ids of others.
        """
        found = map_array(self.path("off"), "<u8", self.header.n_docs + 1)
        if found[0] != 0 or int(found[-1]) != self.header.n_tokens or bool((found[1:] < found[:-1]).any()):
            raise corrupt(self.path("off"), "its offsets do not ascend from 0 to the number of ids")
        return found

    @cached_property
    def nbytes(self) -> NDArray[np.uint64]:
        """Raw bytes of each document, shape (n_docs,), uint64."""
        return map_array(self.path("nb"), "<u8", self.header.n_docs)

    @cached_property
    def domains(self) -> NDArray[np.uint16] | None:
        """The domain of each document, shape (n_docs,), uint16; None if domains were not named."""
        has_domains = "dom" in self.entry["sha256"]
        return map_array(self.path("dom"), "<u2", self.header.n_docs) if has_domains else None

    def close(self) -> None:
        """Closes the mapped files; the next access maps them again."""
        for name in ("ids", "offsets", "nbytes", "domains"):
            vars(self).pop(name, None)

    def document(self, index: int) -> NDArray[Any]:
        """The ids of one document, its delimiters included. Raises `IndexError`, `WrongType`, `CorruptShard`."""
        n_docs = self.header.n_docs
        index = check_index(index, "shard.document({})", n_docs)
        if not 0 <= index < n_docs:
            raise IndexError(f"document {index} of {n_docs} in {self.name}")
        start, stop = int(self.offsets[index]), int(self.offsets[index + 1])
        if not start <= stop <= self.header.n_tokens:
            # What is mapped reads as zeros behind the end of a file that became shorter.
            raise corrupt(self.path("off"), f"document {index:,} begins at {start:,} and ends at {stop:,}")
        return self.ids[start:stop]


class Shards:
    """A packed folder. Documents are numbered within their split."""

    def __init__(self, folder: Path, content: dict[str, Any], shards: dict[str, list[Shard]]) -> None:
        """Use `open_shards`."""
        self.folder = folder
        self.manifest = content
        self.shards = shards
        self._firsts = {
            name: [0, *accumulate(shard.header.n_docs for shard in members)] for name, members in shards.items()
        }
        """The number of the first document of each shard, then the number of documents."""

    @property
    def splits(self) -> list[str]:
        """The splits that hold documents: `train`, `val` or both."""
        return list(self.shards)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the tokenizer."""
        return str(self.manifest["fingerprint"])

    @property
    def tokenizer(self) -> Path:
        """The tokenizer file in the folder."""
        return self.folder / TOKENIZER

    def n_docs(self, split: str = "train") -> int:
        """Number of documents of a split."""
        return self._firsts[self._check(split)][-1]

    def n_tokens(self, split: str = "train") -> int:
        """Number of ids of a split, delimiters included."""
        return sum(shard.header.n_tokens for shard in self.shards[self._check(split)])

    def document(self, index: int, split: str = "train") -> NDArray[Any]:
        """The ids of one document, its delimiters included, as a view.

        Raises `IndexError`, `WrongType`, `CorruptShard`.
        """
        if isinstance(index, str) and index in self.shards and isinstance(split, int):
            raise WrongType("index and split are in each other's place", fix=f"data.document({split}, {index!r})")
        firsts = self._firsts[self._check(split)]
        index = check_index(index, f"data.document({{}}, {split!r})", firsts[-1])
        if not 0 <= index < firsts[-1]:
            raise IndexError(f"document {index} of {firsts[-1]} in split {split!r}")
        at = bisect_right(firsts, index) - 1
        return self.shards[split][at].document(index - firsts[at])

    def __getitem__(self, index: Any) -> NoReturn:
        """Always raises `WrongType`: documents are numbered within their split."""
        split = next(iter(self.shards), SPLITS[0])
        call, n_docs = f"data.document({{}}, {split!r})", self.n_docs(split)
        number = check_index(index, call, n_docs)
        fix = call.format(number + n_docs * (number < 0))
        raise WrongType(
            "documents of packed data are numbered within their split", limit=f"{n_docs:,} in {split!r}", fix=fix
        )

    def __len__(self) -> NoReturn:
        """Always raises `WrongType`, as indexing."""
        fix = " + ".join(f"data.n_docs({split!r})" for split in self.shards)
        raise WrongType("packed data have a number of documents for each split", fix=fix)

    def __bool__(self) -> bool:
        return True  # `__len__` would raise

    def close(self) -> None:
        """Closes the mapped files: Windows neither replaces nor removes one that is mapped. Views stay valid."""
        for members in self.shards.values():
            for shard in members:
                shard.close()

    def _check(self, split: str) -> str:
        if not isinstance(split, str) or split not in self.shards:
            meant = nearest_name(split, self.splits) or closest(split, self.splits)
            raise OptionError(
                (Setting("split", split), f" holds no documents in {str(self.folder)!r}"),
                limit=f"splits: {', '.join(self.shards)}",
                fix=(Setting("split", meant),) if meant else any_of("split", self.splits) or None,
                option="split",
            )
        return split

    def __repr__(self) -> str:
        splits = ", ".join(f"{name}: {self.n_docs(name):,} documents" for name in self.splits)
        return f"Shards({str(self.folder)!r}, {splits})"


def open_shards(path: str | os.PathLike[str]) -> Shards:
    """Opens a packed folder.

    Raises `MissingInput`, `CorruptShard`, `UnsupportedVersion`, naming file and field; `CorruptFile` for a file, and
    `WrongType` for what is no path.
    """
    refuse_text(name := check_path(path))
    folder = Path(name)
    if not folder.is_dir():
        raise _no_folder(str(path))
    content = read_manifest(folder)
    shards: dict[str, list[Shard]] = {name: [] for name in SPLITS}
    for entry in content["shards"]:
        shard = Shard(folder, entry, content["n_vocab"])
        shard.check(content["fingerprint"], frame_flags(content["frame"]))
        shards[entry["split"]].append(shard)
    return Shards(folder, content, {name: members for name, members in shards.items() if members})


def check_shards(name: str, data: object) -> Shards:
    """`data`, the argument `name`, if it is packed data that are open. Raises `WrongType`; the fix opens them."""
    if not isinstance(data, Shards):
        folder = getattr(data, "out", data)  # that of a `Packed`
        path = os.fspath(folder) if isinstance(folder, (str, os.PathLike)) else "DATA"
        raise WrongType(f"{name} is {type(data).__name__}, not Shards", fix=f"slmtok.shards.open_shards({path!r})")
    return data


def _no_folder(path: str) -> SlmtokError:
    """The error for a path that is no folder; for a file of packed data, the fix opens its folder."""
    file = Path(path)
    if not file.is_file():
        error = missing_input(path)
        error.limit = "packed data are a folder, which slmtok.pack writes"
        if file.name in SPLITS and kind_of_file(str(file.with_name(MANIFEST))) == MANIFEST_KIND:
            folder = str(file.parent)
            error.where = f"packed data are in {folder!r}; a split is no folder of its own"
            error.fix = f"open_shards({folder!r}).document(0, {file.name!r}), for the first document of the split"
        return error
    if kind_of_file(str(file.with_name(MANIFEST))) == MANIFEST_KIND:
        return CorruptFile(
            f"{path} is one file of packed data",
            where=path,
            limit="packed data are opened by their folder",
            fix=f"open_shards({str(file.parent)!r})",
            path=path,
        )
    kind, content = kind_of_file(path), content_of(read_file(path, HEAD_BYTES))
    out = free_name("data")
    fix = f"open_shards({out!r}), which slmtok.pack('CORPUS', tok, {out!r}) writes"
    if kind == SHARD:
        fix = f"copy the whole folder of {file.name}, and name it"
    elif kind not in NAMES and content is None:
        fix = f"slmtok.pack({path!r}, tok, {out!r})"
    name = NAMES.get(kind) or (content.name if content else "a text")
    return CorruptFile(
        f"{path} is {name}, not packed data",
        where=path,
        limit="packed data are a folder, which slmtok.pack writes",
        fix=fix,
        path=path,
    )
