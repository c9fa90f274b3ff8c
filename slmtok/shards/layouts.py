"""Layouts: how other programs lay ids out in files. To add one, write its functions and its entry in `LAYOUTS`.

Files of a layout are written from finished shards and read back as ids; docs/formats/shards.md says what each layout
loses.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from slmtok.errors import OptionError, Setting
from slmtok.files import load_npy
from slmtok.shards.format import FRAMES, HEADER_BYTES, Header, corrupt_file, id_dtype, map_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok.options import PackOptions
    from slmtok.shards.reader import Shard, Shards

_BLOCK_IDS = 1 << 22
MAGIC_BYTES = 8
"""Length of the file head that `Layout.split_of` needs."""
_MAGICS = (b"SLMSHARD", b"\x93NUMPY", b"\x88\xd8\x34\x01")
"""Heads of files that are not raw ids; the last is llm.c's 20240520."""
_SPLIT = re.compile(r"(?:^|[_.-])(train|val)(?=[_.-])")

Files: TypeAlias = "Iterator[tuple[str, Iterable[bytes | NDArray[Any]]]]"
"""Name and content of each file, the content in blocks."""


@dataclass(frozen=True)
class Layout:
    """One layout.

    frame: the specials around documents by default. read: maps the ids of one file, shape (n,), uint16 or uint32;
    `wide` says that ids have four bytes where the file does not. split_of: from the name of a file and its first
    `MAGIC_BYTES`, its split; None for other files. files: the files of all splits of these shards, with `chunk_size`
    and `max_chunks` of the options; None where the shards are the files. u16_only: ids have two bytes.
    needs_validation: it cannot be written without validation documents.
    """

    name: str
    frame: str
    purpose: str
    read: Callable[[Path, bool], NDArray[Any]]
    split_of: Callable[[str, bytes], str | None]
    files: Callable[[Shards, PackOptions], Files] | None = None
    u16_only: bool = False
    needs_validation: bool = False


# --- slm: shards, with documents, raw bytes, domains, split, tokenizer and digests ------------------------------------


def _read_slm(path: Path, wide: bool) -> NDArray[Any]:
    return _raw_ids(path, wide=Header.read(path).id_bytes == 4, skip=HEADER_BYTES)


# --- nanogpt: train.bin and val.bin of two-byte ids; meta.json instead of the pickled meta.pkl ------------------------


def _nanogpt_files(shards: Shards, options: PackOptions) -> Files:
    for split in shards.splits:
        yield f"{split}.bin", _blocks(shards.shards[split])


def _nanogpt_split(name: str, head: bytes) -> str | None:
    """`train.bin` and `val.bin`, also with other words in the name."""
    return _split_in(name) if _is_raw(name, head) else None


# --- llama2c: data00.bin (validation), data01.bin, ... of two-byte ids; its run.c expects bos 1, eos 2 ----------------


def _llama2c_files(shards: Shards, options: PackOptions) -> Files:
    require_validation("val" in shards.splits, "llama2c")
    members = [shards.shards["val"], *([shard] for shard in shards.shards.get("train", []))]
    width = max(2, len(str(len(members) - 1)))
    for number, shards_of_file in enumerate(members):
        yield f"data{number:0{width}d}.bin", _blocks(shards_of_file)


def _llama2c_split(name: str, head: bytes) -> str | None:
    number = re.fullmatch(r"data(\d+)\.bin", name) if _is_raw(name, head) else None
    return None if number is None else "val" if int(number[1]) == 0 else "train"


# --- llmc: train_000000.bin, ... of llm.c and modded-nanogpt: a header of 256 int32, two-byte ids ---------------------

_LLMC_MAGIC, _LLMC_VERSION, _LLMC_HEADER_BYTES = 20240520, 1, 1024
_LLMC_MAX_IDS = (1 << 31) - 1


def _llmc_files(shards: Shards, options: PackOptions) -> Files:
    """A file for each shard. Raises `OptionError` for more ids than the 32-bit field of the header holds."""
    for split in shards.splits:
        for number, shard in enumerate(shards.shards[split]):
            if len(shard.ids) > _LLMC_MAX_IDS:
                raise OptionError(
                    f"{shard.name} has {len(shard.ids):,} ids",
                    limit=f"{_LLMC_MAX_IDS:,} in a file of the layout llmc",
                    fix=(Setting("shard_tokens", 1000000000), ", or less"),
                    option="shard_tokens",
                )
            header = struct.pack("<3i", _LLMC_MAGIC, _LLMC_VERSION, len(shard.ids)).ljust(_LLMC_HEADER_BYTES, b"\0")
            yield f"{split}_{number:06d}.bin", [header, shard.ids]


def _read_llmc(path: Path, wide: bool) -> NDArray[Any]:
    with path.open("rb") as file:
        head = file.read(12)
    magic, version, tokens = struct.unpack("<3i", head) if len(head) == 12 else (0, 0, 0)
    size = path.stat().st_size
    if (magic, version) != (_LLMC_MAGIC, _LLMC_VERSION) or size != _LLMC_HEADER_BYTES + 2 * tokens:
        raise corrupt_file(
            path,
            f"magic {magic}, version {version}, {tokens:,} ids in the header, {size:,} bytes",
            limit=f"llm.c: magic {_LLMC_MAGIC}, version {_LLMC_VERSION}, and two bytes for each id of the header",
        )
    return _raw_ids(path, wide=False, skip=_LLMC_HEADER_BYTES)


def _llmc_split(name: str, head: bytes) -> str | None:
    """Recognised by the magic; `train` unless the name says `val`."""
    return (_split_in(name) or "train") if head.startswith(struct.pack("<i", _LLMC_MAGIC)) else None


# --- npy: train.npy and val.npy, flat or in rows; ids behind the last whole row are left out --------------------------


def _npy_files(shards: Shards, options: PackOptions) -> Files:
    """One array for each split: shape (n,), or (rows, chunk_size)."""
    import numpy as np

    descr = np.lib.format.dtype_to_descr(id_dtype(shards.manifest["n_vocab"]))
    for split in shards.splits:
        total = shards.n_tokens(split)
        shape: tuple[int, ...] = (total,)
        if options.chunk_size is not None:
            rows = total // options.chunk_size
            if not rows and split == "train":
                raise OptionError(
                    (Setting("chunk_size", options.chunk_size), f" is more than the {total:,} ids of {split}"),
                    limit="at least one row for training",
                    fix=(Setting("chunk_size", min(total, 1024) or 1),),
                    option="chunk_size",
                )
            if options.max_chunks is not None and split == "train":
                rows = min(rows, options.max_chunks)
            total, shape = rows * options.chunk_size, (rows, options.chunk_size)
        header = BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": False, "shape": shape})
        yield f"{split}.npy", chain([header.getvalue()], _blocks(shards.shards[split], total))


def _read_npy(path: Path, wide: bool) -> NDArray[Any]:
    """The ids of one file; rows are joined."""
    limit = "an array of uint16 or uint32 in one or two dimensions"
    try:
        with path.open("rb") as file:
            array = load_npy(file, path)
    except (ValueError, OSError) as error:
        raise corrupt_file(path, str(error), limit=limit) from None
    if array.dtype.kind != "u" or array.dtype.itemsize not in (2, 4) or array.ndim not in (1, 2):
        raise corrupt_file(path, f"it holds {array.dtype} of shape {array.shape}", limit=limit)
    ids: NDArray[Any] = array.reshape(-1)
    return ids


def _npy_split(name: str, head: bytes) -> str | None:
    return _split_in(name) if head.startswith(b"\x93NUMPY") and name.endswith(".npy") else None


# --- shared -----------------------------------------------------------------------------------------------------------


def require_u16(n_vocab: int, layout: str) -> None:
    """Raises `OptionError` where an id may need more than two bytes."""
    if n_vocab > 65536:
        begins, ends = FRAMES[LAYOUTS[layout].frame]
        frame = tuple(
            part for name, has in (("bos", begins), ("eos", ends)) if not has for part in (" ", Setting(name, False))
        )
        raise OptionError(
            f"the layout {layout} has two bytes per id, and the tokenizer has {n_vocab:,} ids",
            limit="n_vocab <= 65,536",
            fix=(Setting("output_format", "npy"), *frame, ", or a smaller tokenizer"),
            option="output_format",
        )


def require_validation(present: bool, layout: str) -> None:
    """Raises `OptionError` where no document is validation."""
    if not present:
        raise OptionError(
            f"the layout {layout} has a file of validation documents, and there are none",
            fix=(Setting("val", "tail:10%"),),
            option="val",
        )


def _split_in(name: str) -> str | None:
    """`train` or `val`, where one of them is a word of the file's name."""
    found = _SPLIT.search(name)
    return found[1] if found else None


def _is_raw(name: str, head: bytes) -> bool:
    """Whether a file may hold raw ids, by its name and first bytes."""
    return name.endswith(".bin") and not head.startswith(_MAGICS)


def _blocks(shards: Iterable[Shard], limit: int | None = None) -> Iterator[NDArray[Any]]:
    """The ids of shards in blocks, at most `limit` of them."""
    for shard in shards:
        ids = shard.ids[:limit]
        for start in range(0, len(ids), _BLOCK_IDS):
            yield ids[start : start + _BLOCK_IDS]
        limit = None if limit is None else limit - len(ids)


def _raw_ids(path: Path, wide: bool, skip: int = 0) -> NDArray[Any]:
    """The ids of a file behind `skip` bytes. Raises `CorruptFile` where its size is not a whole number of ids."""
    width = 4 if wide else 2
    size = path.stat().st_size - skip
    if size < 0 or size % width:
        raise corrupt_file(path, f"{size + skip:,} bytes are not a whole number of {width}-byte ids")
    return map_array(path, f"<u{width}", size // width, skip)


LAYOUTS: dict[str, Layout] = {
    entry.name: entry
    for entry in (
        Layout("slm", "bos_eos", "shards of slmtok", _read_slm, lambda name, head: None),
        Layout(
            "nanogpt",
            "eos",
            "train.bin and val.bin of two-byte ids",
            _raw_ids,
            _nanogpt_split,
            _nanogpt_files,
            u16_only=True,
        ),
        Layout(
            "llama2c",
            "bos",
            "data00.bin, data01.bin, … as llama2.c reads them",
            _raw_ids,
            _llama2c_split,
            _llama2c_files,
            u16_only=True,
            needs_validation=True,
        ),
        Layout(
            "llmc",
            "bos",
            "train_000000.bin, … with the header of llm.c",
            _read_llmc,
            _llmc_split,
            _llmc_files,
            u16_only=True,
        ),
        Layout("npy", "bos_eos", "train.npy and val.npy, flat or in rows", _read_npy, _npy_split, _npy_files),
    )
}
