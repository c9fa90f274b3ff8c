"""Layouts: how other programs lay ids out in files. To add one, write its three functions and its entry in `LAYOUTS`.

Files of a layout are written from finished shards and read back as ids; docs/formats/shards.md says what each layout
loses.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from slmtok.errors import CorruptFile, OptionError, Setting
from slmtok.shards.format import HEADER_BYTES, Header, id_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok.shards.reader import Shards

_BLOCK_IDS = 1 << 22
MAGIC_BYTES = 8
"""Length of the file head that `Layout.split_of` needs."""
_MAGICS = (b"SLMSHARD", b"\x93NUMPY", b"\x88\xd8\x34\x01")
"""Heads of files that are not raw ids; the last is llm.c's 20240520."""
_SPLIT = re.compile(r"(?:^|[_.-])(train|val)(?=[_.-])")


@dataclass(frozen=True)
class WriteJob:
    """Shards, the folder to write to, and for rows of one length that length and the maximum number of them."""

    shards: Shards
    folder: Path
    chunk_size: int | None = None
    max_chunks: int | None = None


@dataclass(frozen=True)
class Layout:
    """One layout.

    frame: the specials around documents by default. write: writes all splits and returns the names of the files.
    read: maps the ids of one file, shape (n,), uint16 or uint32; `wide` says that ids have four bytes where the file
    does not. split_of: from the name of a file and its first `MAGIC_BYTES`, its split; None for other files. u16_only:
    ids have two bytes. needs_validation: it cannot be written without validation documents.
    """

    name: str
    frame: str
    purpose: str
    write: Callable[[WriteJob], list[str]]
    read: Callable[[Path, bool], NDArray[Any]]
    split_of: Callable[[str, bytes], str | None]
    u16_only: bool = False
    needs_validation: bool = False


# --- slm: shards, with documents, raw bytes, domains, split, tokenizer and digests ------------------------------------


def _write_slm(job: WriteJob) -> list[str]:
    """The names of the shards, which exist already."""
    return [f"{entry['name']}.bin" for entry in job.shards.manifest["shards"]]


def _read_slm(path: Path, wide: bool) -> NDArray[Any]:
    with path.open("rb") as file:
        header = Header.parse(file.read(HEADER_BYTES), str(path))
    return _raw_ids(path, wide=header.id_bytes == 4, skip=HEADER_BYTES)


def _no_slm_split(name: str, head: bytes) -> None:
    """Shards are described by their manifest, not by their names."""


# --- nanogpt: train.bin and val.bin of two-byte ids; meta.json instead of the pickled meta.pkl ------------------------


def _write_nanogpt(job: WriteJob) -> list[str]:
    require_u16(job.shards.manifest["n_vocab"], "nanogpt")
    names = []
    for split in job.shards.splits:
        names.append(f"{split}.bin")
        with (job.folder / names[-1]).open("wb") as file:
            _write_blocks(file, _blocks(job.shards, split))
    return names


def _read_raw(path: Path, wide: bool) -> NDArray[Any]:
    return _raw_ids(path, wide=wide)


def _nanogpt_split(name: str, head: bytes) -> str | None:
    """`train.bin` and `val.bin`, also with other words in the name."""
    return _split_in(name) if _is_raw(name, head) else None


# --- llama2c: data00.bin (validation), data01.bin, ... of two-byte ids; its run.c expects bos 1, eos 2 ----------------


def _write_llama2c(job: WriteJob) -> list[str]:
    require_u16(job.shards.manifest["n_vocab"], "llama2c")
    require_validation("val" in job.shards.splits, "llama2c")
    files = [job.shards.shards["val"], *([shard] for shard in job.shards.shards.get("train", []))]
    width = max(2, len(str(len(files) - 1)))
    names = []
    for number, shards in enumerate(files):
        names.append(f"data{number:0{width}d}.bin")
        with (job.folder / names[-1]).open("wb") as file:
            _write_blocks(file, (shard.ids for shard in shards))
    return names


def _llama2c_split(name: str, head: bytes) -> str | None:
    number = re.fullmatch(r"data(\d+)\.bin", name) if _is_raw(name, head) else None
    return None if number is None else "val" if int(number[1]) == 0 else "train"


# --- llmc: train_000000.bin, ... of llm.c and modded-nanogpt: a header of 256 int32, two-byte ids ---------------------

_LLMC_MAGIC, _LLMC_VERSION, _LLMC_HEADER_BYTES = 20240520, 1, 1024
_LLMC_MAX_IDS = (1 << 31) - 1


def _write_llmc(job: WriteJob) -> list[str]:
    """A file for each shard. Raises `OptionError` for more ids than the 32-bit field of the header holds."""
    require_u16(job.shards.manifest["n_vocab"], "llmc")
    names = []
    for split in job.shards.splits:
        for number, shard in enumerate(job.shards.shards[split]):
            if len(shard.ids) > _LLMC_MAX_IDS:
                raise OptionError(
                    f"{shard.name} has {len(shard.ids):,} ids",
                    limit=f"{_LLMC_MAX_IDS:,} in a file of the layout llmc",
                    fix=(Setting("shard_tokens", 1000000000), ", or less"),
                    option="shard_tokens",
                )
            names.append(f"{split}_{number:06d}.bin")
            with (job.folder / names[-1]).open("wb") as file:
                header = struct.pack("<3i", _LLMC_MAGIC, _LLMC_VERSION, len(shard.ids))
                file.write(header.ljust(_LLMC_HEADER_BYTES, b"\0"))
                _write_blocks(file, iter([shard.ids]))
    return names


def _read_llmc(path: Path, wide: bool) -> NDArray[Any]:
    with path.open("rb") as file:
        head = file.read(12)
    magic, version, tokens = struct.unpack("<3i", head) if len(head) == 12 else (0, 0, 0)
    size = path.stat().st_size
    if (magic, version) != (_LLMC_MAGIC, _LLMC_VERSION) or size != _LLMC_HEADER_BYTES + 2 * tokens:
        raise CorruptFile(
            f"{path} is not a file of llm.c: magic {magic}, version {version}, {tokens:,} ids in the header",
            where=str(path),
            limit=f"magic {_LLMC_MAGIC}, version {_LLMC_VERSION}, and two bytes for each id of the header",
            fix="name a file that llm.c's scripts or slmtok pack --output-format llmc wrote",
            path=str(path),
        )
    return _raw_ids(path, wide=False, skip=_LLMC_HEADER_BYTES)


def _llmc_split(name: str, head: bytes) -> str | None:
    """Recognised by the magic; `train` unless the name says `val`."""
    return (_split_in(name) or "train") if head.startswith(struct.pack("<i", _LLMC_MAGIC)) else None


# --- npy: train.npy and val.npy, flat or in rows; ids behind the last whole row are left out --------------------------


def _write_npy(job: WriteJob) -> list[str]:
    """One array for each split: shape (n,), or (rows, chunk_size)."""
    import numpy as np

    names = []
    for split in job.shards.splits:
        total = job.shards.n_tokens(split)
        shape: tuple[int, ...] = (total,)
        if job.chunk_size is not None:
            rows = total // job.chunk_size
            if job.max_chunks is not None and split == "train":
                rows = min(rows, job.max_chunks)
            total, shape = rows * job.chunk_size, (rows, job.chunk_size)
        names.append(f"{split}.npy")
        descr = np.lib.format.dtype_to_descr(id_dtype(job.shards.manifest["n_vocab"]))
        with (job.folder / names[-1]).open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
            _write_blocks(file, _blocks(job.shards, split), total)
    return names


def _read_npy(path: Path, wide: bool) -> NDArray[Any]:
    """The ids of one file; rows are joined."""
    import numpy as np

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise _not_an_array(path, str(error)) from None
    if array.dtype.kind != "u" or array.dtype.itemsize not in (2, 4) or array.ndim not in (1, 2):
        raise _not_an_array(path, f"it holds {array.dtype} of shape {array.shape}")
    ids: NDArray[Any] = array.reshape(-1)
    return ids


def _not_an_array(path: Path, fault: str) -> CorruptFile:
    return CorruptFile(
        f"{path} is not an array of ids: {fault}",
        where=str(path),
        limit="uint16 or uint32 in one or two dimensions",
        fix="name a file that slmtok pack --output-format npy wrote",
        path=str(path),
    )


def _npy_split(name: str, head: bytes) -> str | None:
    return _split_in(name) if head.startswith(b"\x93NUMPY") and name.endswith(".npy") else None


# --- shared -----------------------------------------------------------------------------------------------------------


def require_u16(n_vocab: int, layout: str) -> None:
    """Raises `OptionError` where an id may need more than two bytes."""
    if n_vocab > 65536:
        raise OptionError(
            f"the layout {layout} has two bytes per id, and the tokenizer has {n_vocab:,} ids",
            limit="n_vocab <= 65,536",
            fix="layout 'slm' or 'npy', which have four, or a smaller tokenizer",
            option="as",
        )


def require_validation(present: bool, layout: str) -> None:
    """Raises `OptionError` where no document is validation."""
    if not present:
        raise OptionError(
            f"the layout {layout} has a file of validation documents, and there are none",
            fix=(Setting("val", "hash:0.5%"),),
            option="val",
        )


def _split_in(name: str) -> str | None:
    """`train` or `val`, where one of them is a word of the file's name."""
    found = _SPLIT.search(name)
    return found[1] if found else None


def _is_raw(name: str, head: bytes) -> bool:
    """Whether a file may hold raw ids, by its name and first bytes."""
    return name.endswith(".bin") and not any(head.startswith(magic) for magic in _MAGICS)


def _blocks(shards: Shards, split: str) -> Iterator[NDArray[Any]]:
    """The ids of a split in blocks."""
    for shard in shards.shards[split]:
        for start in range(0, len(shard.ids), _BLOCK_IDS):
            yield shard.ids[start : start + _BLOCK_IDS]


def _write_blocks(file: IO[bytes], blocks: Iterator[NDArray[Any]], limit: int | None = None) -> None:
    """Writes ids, at most `limit` of them."""
    import numpy as np

    for block in blocks:
        kept = block if limit is None else block[:limit]
        file.write(np.ascontiguousarray(kept).data)
        if limit is not None:
            limit -= len(kept)
            if limit <= 0:
                return


def _raw_ids(path: Path, *, wide: bool, skip: int = 0) -> NDArray[Any]:
    """The ids of a file behind `skip` bytes. Raises `CorruptFile` where its size is not a whole number of ids."""
    import numpy as np

    dtype = np.dtype("<u4" if wide else "<u2")
    size = path.stat().st_size - skip
    if size < 0 or size % dtype.itemsize:
        raise CorruptFile(
            f"{path} is not a file of ids: {size + skip:,} bytes are not a whole number of {dtype.itemsize}-byte ids",
            where=str(path),
            fix="check the layout and the width of ids",
            path=str(path),
        )
    if size == 0:
        return np.empty(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=skip)


LAYOUTS: dict[str, Layout] = {
    entry.name: entry
    for entry in (
        Layout("slm", "bos_eos", "shards of slmtok", _write_slm, _read_slm, _no_slm_split),
        Layout(
            "nanogpt",
            "eos",
            "train.bin and val.bin of two-byte ids",
            _write_nanogpt,
            _read_raw,
            _nanogpt_split,
            u16_only=True,
        ),
        Layout(
            "llama2c",
            "bos",
            "data00.bin, data01.bin, … as llama2.c reads them",
            _write_llama2c,
            _read_raw,
            _llama2c_split,
            u16_only=True,
            needs_validation=True,
        ),
        Layout(
            "llmc",
            "bos",
            "train_000000.bin, … with the header of llm.c",
            _write_llmc,
            _read_llmc,
            _llmc_split,
            u16_only=True,
        ),
        Layout("npy", "bos_eos", "train.npy and val.npy, flat or in rows", _write_npy, _read_npy, _npy_split),
    )
}
