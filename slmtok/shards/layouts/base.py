"""What a layout is: a name, a frame, a function that writes a split, a function that reads one file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from slmtok.errors import CorruptFile, InvalidOption

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok.shards.reader import Shards

BLOCK_IDS = 1 << 22
HEAD = 8
"""Bytes that tell one kind of file from another."""
_WITH_HEAD = (b"SLMSHARD", b"\x93NUMPY", b"\x88\xd8\x34\x01")
"""What files begin with that are no bare ids; the last is llm.c's 20240520."""
_SPLIT = re.compile(r"(?:^|[_.-])(train|val)(?=[_.-])")


@dataclass(frozen=True)
class Writing:
    """What is written: the shards, a folder that is empty of it, and the length of rows where rows are asked for."""

    shards: Shards
    folder: Path
    chunk_size: int | None = None
    max_chunks: int | None = None


@dataclass(frozen=True)
class TokenFile:
    """The ids of a file, mapped into memory: shape (n,), uint16 or uint32. What begins or ends a document is an id."""

    ids: NDArray[Any]


@dataclass(frozen=True)
class Layout:
    """One layout.

    frame: what stands around documents unless the user says otherwise. write: writes all splits and gives the names of
    its files. read: opens one file; `wide` tells four bytes an id where the file doesn't. split_of: from the name of a
    file and its first `HEAD` bytes, the split that it would belong to; None where it is none of the layout. narrow: an
    id has two bytes. validates: without documents for validation it cannot be written.
    """

    name: str
    frame: str
    purpose: str
    write: Callable[[Writing], list[str]]
    read: Callable[[Path, bool], TokenFile]
    split_of: Callable[[str, bytes], str | None]
    narrow: bool = False
    validates: bool = False


def split_in(name: str) -> str | None:
    """`train` or `val`, where one of them is a word of the file's name."""
    found = _SPLIT.search(name)
    return found[1] if found else None


def is_bare(name: str, head: bytes) -> bool:
    """Whether a file may be ids and nothing else, as far as name and first bytes tell."""
    return name.endswith(".bin") and not any(head.startswith(other) for other in _WITH_HEAD)


def blocks(shards: Shards, split: str) -> Iterator[NDArray[Any]]:
    """The ids of a split in blocks, in order; documents are not kept apart."""
    for shard in shards.shards[split]:
        for start in range(0, len(shard.ids), BLOCK_IDS):
            yield shard.ids[start : start + BLOCK_IDS]


def write_blocks(file: IO[bytes], found: Iterator[NDArray[Any]]) -> int:
    """Writes ids and gives their number."""
    import numpy as np

    total = 0
    for block in found:
        file.write(np.ascontiguousarray(block).data)
        total += len(block)
    return total


def need_u16(n_vocab: int, layout: str) -> None:
    """Raises `InvalidOption` where an id may take more than two bytes."""
    if n_vocab > 65536:
        raise InvalidOption(
            f"the layout {layout} has two bytes an id, and the tokenizer has {n_vocab:,} ids",
            limit="n_vocab <= 65,536",
            fix="layout 'slm' or 'npy', which take four, or a smaller tokenizer",
            option="as",
        )


def need_validation(present: bool, layout: str) -> None:
    """Raises `InvalidOption` where no document is validation."""
    if not present:
        raise InvalidOption(
            f"the layout {layout} validates on a file of its own, and no document is validation",
            fix="val='hash:0.5%'",
            option="val",
        )


def raw_ids(path: Path, *, wide: bool, skip: int = 0) -> NDArray[Any]:
    """The ids of a file without what comes first. Raises `CorruptFile` where the size is no whole number of ids."""
    import numpy as np

    dtype = np.dtype("<u4" if wide else "<u2")
    size = path.stat().st_size - skip
    if size < 0 or size % dtype.itemsize:
        raise CorruptFile(
            f"{path} is no file of ids: {size + skip:,} bytes are no whole number of {dtype.itemsize}-byte ids",
            where=str(path),
            fix="check the layout and the width of ids",
            path=str(path),
        )
    if size == 0:
        return np.empty(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=skip)
