"""Files around a tokenizer: reading one whole, and text files to a file of ids with its document offsets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from slmtok import atomic
from slmtok.arguments import joined, one_path
from slmtok.errors import MissingInput, OptionError, Unreadable, WrongType
from slmtok.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok._engine import Encoder
    from slmtok.aliases import Progress


def read_file(path: str | os.PathLike[str], limit: int) -> bytes:
    """At most `limit` bytes of a file. Raises `MissingInput`, `Unreadable`."""
    name = one_path(path)
    try:
        with Path(name).open("rb") as file:
            return file.read(limit)
    except (FileNotFoundError, ValueError):
        raise missing(name) from None
    except OSError as error:
        raise Unreadable(
            f"cannot read {name!r}: {error.strerror}",
            where=name,
            fix="name a file that may be read",
            path=name,
            os_error=error.errno,
        ) from error


def missing(path: str | os.PathLike[str]) -> MissingInput:
    """The error for a file that is not there."""
    folder = Path(path).parent
    return MissingInput(
        f"no file {str(path)!r}",
        where=f"the folder {str(folder)!r}" + ("" if folder.is_dir() else " does not exist either"),
        fix="check the name; paths are relative to the working folder",
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
    import numpy as np

    if document not in ("file", "line"):
        raise OptionError(
            f"document={document!r} is unknown", limit="file, line", fix="document='line'", option="document"
        )
    sources = _sources(paths)
    target = Path(one_path(out))
    table = target.with_name(target.name + ".offsets.npy")
    with atomic.outputs(target, table, inputs=sources, force=force) as (ids_part, table_part):
        offsets = encoder.encode_files(
            sources,
            os.fspath(ids_part),
            document=document,
            threads=threads,
            **frame,
            progress=progress,
        )
        with table_part.open("wb") as file:
            save_array(file, np.asarray(offsets, dtype="<i8"))
    return open_ids(target, wide=encoder.wide)


def _sources(paths: object) -> list[str]:
    """The files to read. Raises `WrongType`, `MissingInput`, `Unreadable` for what is no regular file."""
    if not isinstance(paths, (str, os.PathLike)) and not isinstance(paths, Iterable):
        raise WrongType(f"encode_files takes paths, not {type(paths).__name__}", fix="tok.encode_files(['a.txt'], out)")
    sources = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not sources:
        raise MissingInput("the list of paths is empty", fix="tok.encode_files(['a.txt'], out)")
    names = [one_path(source) for source in sources]
    for name in names:
        place = Path(name)
        if "\0" in name or not place.exists():
            raise missing(name)
        if not place.is_file():
            raise Unreadable(
                f"{name!r} is no regular file",
                where=name,
                limit="files that can be mapped into memory",
                fix="name the files themselves; for a pipe, tok.encode_batch(texts)",
                path=name,
            )
    return names


def save_array(stream: BinaryIO, array: NDArray[Any]) -> None:
    """What `np.save` writes. That one writes past the stream, and then loses why a write failed."""
    import numpy as np

    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    stream.write(np.ascontiguousarray(array).data)


def open_ids(target: Path, *, wide: bool) -> Ragged:
    """The two files of `encode_files`, mapped into memory, read-only."""
    import numpy as np

    offsets = np.load(target.with_name(target.name + ".offsets.npy"), mmap_mode="r", allow_pickle=False)
    dtype = np.dtype("<u4" if wide else "<u2")
    if target.stat().st_size == 0:
        return Ragged(joined([], dtype), offsets)
    return Ragged(np.memmap(target, dtype=dtype, mode="r"), offsets)
