"""Layout `npy`: `train.npy` and `val.npy`, one array each; with a chunk size, rows of that many ids.

When to pick it: for any loader that knows numpy. Price: raw bytes and documents are forgotten but for their frame; rows
cut documents wherever they end, and the ids behind the last whole row are left out, which `meta.json` counts.
Promises: four bytes an id where the vocabulary needs them; `np.load(path, mmap_mode="r")` opens it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptFile
from slmtok.shards.header import id_dtype
from slmtok.shards.layouts.base import Layout, TokenFile, Writing, blocks, split_in, write_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray


def write(writing: Writing) -> list[str]:
    """One array a split: shape (n,), or (rows, chunk_size)."""
    import numpy as np

    names = []
    for split in writing.shards.splits:
        total, shape = writing.shards.n_tokens(split), (writing.shards.n_tokens(split),)
        if writing.chunk_size is not None:
            rows = total // writing.chunk_size
            if writing.max_chunks is not None and split == "train":
                rows = min(rows, writing.max_chunks)
            total, shape = rows * writing.chunk_size, (rows, writing.chunk_size)  # type: ignore[assignment]
        names.append(f"{split}.npy")
        descr = np.lib.format.dtype_to_descr(id_dtype(writing.shards.manifest["n_vocab"]))
        with (writing.folder / names[-1]).open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
            write_blocks(file, _first(blocks(writing.shards, split), total))
    return names


def _first(found: Iterator[NDArray[Any]], total: int) -> Iterator[NDArray[Any]]:
    """The first `total` ids."""
    for block in found:
        yield block[:total]
        total -= len(block)
        if total <= 0:
            return


def read(path: Path, wide: bool) -> TokenFile:
    """The ids of one file, rows laid end to end. Raises `CorruptFile`."""
    import numpy as np

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise _broken(path, str(error)) from None
    if array.dtype.kind != "u" or array.dtype.itemsize not in (2, 4) or array.ndim not in (1, 2):
        raise _broken(path, f"it holds {array.dtype} of shape {array.shape}")
    return TokenFile(array.reshape(-1))


def _broken(path: Path, what: str) -> CorruptFile:
    return CorruptFile(
        f"{path} is no array of ids: {what}",
        where=str(path),
        limit="uint16 or uint32 in one or two dimensions",
        fix="name a file that slmtok pack --output-format npy wrote",
        path=str(path),
    )


def split_of(name: str, head: bytes) -> str | None:
    """An array with `train` or `val` in its name."""
    return split_in(name) if head.startswith(b"\x93NUMPY") and name.endswith(".npy") else None


LAYOUT = Layout("npy", "bos_eos", "train.npy and val.npy, flat or in rows", write, read, split_of)
