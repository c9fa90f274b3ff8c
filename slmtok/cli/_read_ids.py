"""Reading ids for `slmtok decode`: text lines, numpy arrays, raw arrays, each with the offsets beside it, if any."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from slmtok.cli import _id_lines
from slmtok.cli._files import STDIO
from slmtok.corpus.streams import open_bytes
from slmtok.errors import CorruptFile, InvalidText, MissingInput, UnknownId

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok.tokenizer import Tokenizer

Texts: TypeAlias = Iterator[bytes]
_NPY = b"\x93NUMPY"
_OFFSETS = ".offsets.npy"
_BY_SUFFIX = {".npy": "npy", ".bin": "bin"}


@dataclass(frozen=True)
class Row:
    """The ids of one document, and where they stood."""

    ids: Any
    where: str


def read(source: str, kind: str, *, wide: bool) -> Iterator[Row]:
    """The documents of `source`. `wide`: whether raw ids have four bytes. Raises `MissingInput`, `MalformedRecord`."""
    if source != STDIO and not Path(source).is_file():
        from slmtok.corpus import expand

        expand(source)
        raise MissingInput(
            f"{source!r} is no file",
            where="slmtok decode",
            fix="name a file in it" if Path(source).is_dir() else f"slmtok decode - < {source} reads a pipe",
            path=source,
        )
    if kind == "auto":
        kind = _BY_SUFFIX.get(Path(source).suffix.lower(), "ids")
    if kind == "ids":
        return _lines(source)
    return _rows(source, _array(source, kind, wide))


def has_offsets(source: str) -> bool:
    """Whether the borders of documents lie beside a file of ids, as `slmtok encode` leaves them."""
    return source != STDIO and Path(source + _OFFSETS).is_file()


def _lines(source: str) -> Iterator[Row]:
    name = _name(source)
    with open_bytes(source) as stream:
        for number, ids in _id_lines.lines(stream, name):
            yield Row(ids, f"{name}, line {number:,}")


def _array(source: str, kind: str, wide: bool) -> NDArray[Any]:
    import numpy as np

    dtype = np.dtype("<u4" if wide else "<u2")
    data = _stdin() if source == STDIO else None
    try:
        if kind == "bin":
            return np.frombuffer(data if data is not None else Path(source).read_bytes(), dtype)
        array = _npy(source, data)
    except ValueError as error:
        reason = f"its size is no multiple of {dtype.itemsize} bytes" if kind == "bin" else str(error)
        raise CorruptFile(
            f"{_name(source)} is no array of ids: {reason}",
            where=_name(source),
            fix="--from ids, npy or bin says what it is",
            path=source,
        ) from None
    if array.ndim not in (1, 2) or array.dtype.kind not in "iu":
        raise CorruptFile(
            f"{_name(source)} holds {array.dtype} of shape {array.shape}, not ids",
            limit="whole numbers in one dimension, or in rows",
            fix="name a file that slmtok encode --to npy wrote",
            path=source,
        )
    return array.reshape(-1)


def _npy(source: str, data: bytes | None) -> NDArray[Any]:
    """The array of a .npy file. Raises `ValueError` with the reason in our words: numpy's advice would be dangerous.

    Numpy would also open an archive of arrays, and what it raises for a damaged header is not promised.
    """
    import warnings

    import numpy as np

    with io.BytesIO(data) if data is not None else Path(source).open("rb") as file:
        begin = file.read(len(_NPY))
        if begin != _NPY:
            raise ValueError("it is no .npy file" if begin else "it is empty")
        file.seek(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                array: NDArray[Any] = np.load(file, allow_pickle=False)
        except OSError:
            raise
        except Exception:
            raise ValueError("it is cut short, or damaged, or holds Python objects") from None
    return array


def _stdin() -> bytes:
    with open_bytes(STDIO) as stream:
        return stream.read()


def _rows(source: str, ids: NDArray[Any]) -> Iterator[Row]:
    import numpy as np

    beside = Path(source + _OFFSETS)
    if not has_offsets(source):
        yield Row(ids, _name(source))
        return
    try:
        offsets = _npy(str(beside), None)
    except ValueError:
        offsets = np.empty(0, np.int64)
    if (
        offsets.ndim != 1
        or offsets.dtype.kind not in "iu"
        or not len(offsets)
        or offsets[0] != 0
        or offsets[-1] != len(ids)
        or (offsets[1:] < offsets[:-1]).any()
    ):
        raise CorruptFile(
            f"{beside} does not fit {source}, which has {len(ids):,} ids",
            where=str(beside),
            fix="encode again, or move the offsets away to decode all ids as one document",
            path=str(beside),
        )
    bounds = offsets.tolist()
    for number, (start, stop) in enumerate(pairwise(bounds), 1):
        yield Row(ids[start:stop], f"{source}, document {number:,}")


def placed(error: UnknownId, where: str, tokenizer: Tokenizer) -> UnknownId:
    """The engine's error with the line that it is about, and what a padding id is."""
    from slmtok.id_arrays import complete_error

    id = error.fields.get("id")
    position = error.fields.get("position")
    if isinstance(id, int) and tokenizer.n_vocab <= id < tokenizer.padded_vocab:
        at = f" at position {position}" if position is not None else ""
        return UnknownId(
            f"id {id}{at} is padding, not a token",
            where=where,
            limit=f"n_vocab {tokenizer.n_vocab} (the model is padded to {tokenizer.padded_vocab})",
            fix="mask the padding before sampling; slm sample does",
            **error.fields,
        )
    error.where = f"{where}, {error.where}" if error.where else where
    return complete_error(error)


def not_utf8(error: UnicodeDecodeError, where: str) -> InvalidText:
    """The error of `--errors strict`."""
    return InvalidText(
        f"the decoded bytes are not UTF-8 (byte 0x{error.object[error.start]:02X} at {error.start})",
        where=where,
        fix="--errors keep to write the bytes as they are, or --errors replace",
    )


def _name(source: str) -> str:
    return "stdin" if source == STDIO else source
