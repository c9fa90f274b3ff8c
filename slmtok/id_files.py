"""Files around a tokenizer: reading one whole, and text files to a file of ids with its document offsets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np

from slmtok import atomic
from slmtok.arguments import joined
from slmtok.errors import InvalidOption, MissingInput, Unreadable
from slmtok.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok._engine import Encoder
    from slmtok.aliases import Progress


def read_file(path: str | os.PathLike[str], limit: int) -> bytes:
    """At most `limit` bytes of a file. Raises `MissingInput`, `Unreadable`."""
    try:
        with Path(path).open("rb") as file:
            return file.read(limit)
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise Unreadable(
            f"cannot read {str(path)!r}: {error.strerror}", path=str(path), os_error=error.errno
        ) from error


def missing(path: str | os.PathLike[str]) -> MissingInput:
    """The error for a file that is not there."""
    folder = Path(path).parent
    return MissingInput(
        f"no file {str(path)!r}",
        where=None if folder.is_dir() else f"the folder {str(folder)!r} does not exist either",
        path=str(path),
    )


def encode_files(
    encoder: Encoder,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    document: Literal["file", "line"],
    threads: int,
    frame: dict[str, int | None],
    force: bool,
    progress: Progress | None,
) -> Ragged:
    """See `Tokenizer.encode_files`."""
    if document not in ("file", "line"):
        raise InvalidOption(f"--document {document} is unknown", limit="file, line", option="document")
    sources = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    for source in sources:
        if not Path(source).is_file():
            raise missing(source)
    target = Path(out)
    table = target.with_name(target.name + ".offsets.npy")
    with atomic.outputs(target, table, inputs=sources, force=force) as (ids_part, table_part):
        offsets = encoder.encode_files(
            [os.fspath(source) for source in sources],
            os.fspath(ids_part),
            document=document,
            threads=threads,
            **frame,
            progress=progress,
        )
        with table_part.open("wb") as file:
            save_array(file, np.asarray(offsets, dtype="<i8"))
    return open_ids(target, wide=encoder.wide)


def save_array(stream: BinaryIO, array: NDArray[Any]) -> None:
    """What `np.save` writes. That one writes past the stream, and then loses why a write failed."""
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    stream.write(np.ascontiguousarray(array).data)


def open_ids(target: Path, *, wide: bool) -> Ragged:
    """The two files of `encode_files`, mapped into memory, read-only."""
    offsets = np.load(target.with_name(target.name + ".offsets.npy"), mmap_mode="r", allow_pickle=False)
    dtype = np.dtype("<u4" if wide else "<u2")
    if target.stat().st_size == 0:
        return Ragged(joined([], dtype), offsets)
    return Ragged(np.memmap(target, dtype=dtype, mode="r"), offsets)
