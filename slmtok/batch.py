"""What `Tokenizer` does around the engine: judging arguments, files, segments, joining arrays.

Each function says in its error what the caller may have meant: a path where text belongs, one text where many do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from slmtok import atomic, special_text
from slmtok.errors import InvalidOption, MissingInput, UnknownId, Unreadable, WrongType
from slmtok.offsets import byte_spans
from slmtok.ragged import Ragged
from slmtok.segments import Segment, Segments, Special, Trusted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok._engine import Encoder
    from slmtok.aliases import Ids, Progress, Text
    from slmtok.specials import Specials
    from slmtok.tokenizer import Tokenizer

_BYTES_LIKE = (bytes, bytearray, memoryview)


def one_text(x: object) -> Text:
    """`x`, if it is one text. Raises `WrongType` with what to call instead."""
    if isinstance(x, (str, *_BYTES_LIKE)):
        return x
    if isinstance(x, os.PathLike):
        raise WrongType(f"{str(x)!r} is a path, not text", fix="read the file, or tok.encode_files([path], out)")
    if isinstance(x, (list, tuple)):
        raise WrongType(f"a {type(x).__name__} is not one text", fix="tok.encode_batch(texts)")
    raise WrongType(f"text must be str or bytes, not {type(x).__name__}")


def many_texts(xs: object, call: str) -> Sequence[Text]:
    """`xs` as a sequence of texts. Raises `WrongType` for a lone text or path."""
    if isinstance(xs, (str, *_BYTES_LIKE)):
        raise WrongType(f"{call} takes many texts, this is one {type(xs).__name__}", fix=f"tok.{call}([text])")
    if isinstance(xs, os.PathLike):
        raise WrongType(f"{str(xs)!r} is a path, not texts", fix="tok.encode_files([path], out)")
    if not isinstance(xs, Iterable):
        raise WrongType(f"{call} takes many texts, not {type(xs).__name__}")
    texts = xs if isinstance(xs, (list, tuple)) else list(xs)
    for index, text in enumerate(texts):
        if not isinstance(text, (str, *_BYTES_LIKE)):
            raise WrongType(
                f"text {index} is {type(text).__name__}, not str or bytes",
                fix="tok.encode_files(paths, out)" if isinstance(text, os.PathLike) else None,
            )
    return cast("Sequence[Text]", texts)


def threads(value: int) -> int:
    """`value`, if it is a number of threads. Raises `InvalidOption`."""
    if value < 0:
        raise InvalidOption(f"--threads {value} is negative", limit="0 (all) or more", option="threads")
    return value


def check_unit(unit: str) -> None:
    """Raises `InvalidOption` unless `unit` is one that spans come in."""
    if unit not in ("bytes", "chars"):
        raise InvalidOption(f"unit {unit!r} is unknown", limit="bytes, chars", option="unit")


def joined(parts: Sequence[Ids], dtype: np.dtype[Any]) -> Ids:
    """One read-only array of all parts."""
    ids = np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype=dtype)
    ids.flags.writeable = False
    return cast("Ids", ids)


# --- decoding --------------------------------------------------------------------------------------------------------


def one_row(ids: object) -> object:
    """`ids` as one sequence for the engine. Raises `WrongType` for a batch or text."""
    if isinstance(ids, Ragged):
        raise WrongType("a Ragged holds many id sequences", fix="tok.decode_batch(ragged)")
    if isinstance(ids, (str, *_BYTES_LIKE)):
        raise WrongType(f"ids must be integers, this is {type(ids).__name__}", fix="tok.encode(text) gives ids")
    if isinstance(ids, (np.ndarray, list, tuple)):
        return ids
    if not isinstance(ids, Iterable):
        raise WrongType(f"ids must be an array or a sequence, not {type(ids).__name__}", fix="tok.decode([id])")
    return list(ids)


def as_array(ids: object) -> NDArray[np.int64]:
    """Ids as int64, shape (n,). Raises `UnknownId` for a number that 64 bits do not hold, `WrongType` for no number."""
    row = one_row(ids)
    try:
        array = np.asarray(row)
    except OverflowError:
        raise beyond_64_bits(row) from None
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise WrongType(f"ids must be whole numbers in one dimension, not {array.dtype} of shape {array.shape}")
    return array.astype(np.int64, copy=False)


def beyond_64_bits(row: object, n_vocab: int | None = None) -> UnknownId:
    """The error for the first number of `row` that 64 bits do not hold."""
    ids = list(cast("Iterable[int]", row))
    position = next((index for index, id in enumerate(ids) if not -(1 << 63) <= id < 1 << 63), 0)
    return UnknownId(
        f"id {ids[position]} is not in the vocabulary",
        where=f"position {position}",
        limit=f"0 <= id < {n_vocab} (n_vocab)" if n_vocab else None,
        id=ids[position],
        position=position,
    )


def without(ids: object, specials: Specials) -> NDArray[np.int64]:
    """Ids that are no specials."""
    array = as_array(ids)
    return array[~np.isin(array, [token.id for token in specials.tokens])]


def rows(batch: Ragged | Iterable[Any]) -> tuple[object, NDArray[np.int64]]:
    """(flat ids, offsets) of a batch."""
    if isinstance(batch, Ragged):
        return batch.ids, batch.offsets
    if isinstance(batch, (str, *_BYTES_LIKE)):
        raise WrongType("decode_batch takes many id sequences", fix="tok.decode(ids)")
    arrays = []
    for row in batch:
        if isinstance(row, (int, np.integer)):
            raise WrongType("decode_batch takes many id sequences, this is one", fix="tok.decode(ids)")
        arrays.append(as_array(row))
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in arrays], out=offsets[1:])
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64), offsets


# --- files -----------------------------------------------------------------------------------------------------------


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
    with atomic.outputs(target, table, force=force) as (ids_part, table_part):
        offsets = encoder.encode_files(
            [os.fspath(source) for source in sources],
            os.fspath(ids_part),
            document=document,
            threads=threads,
            **frame,
            progress=progress,
        )
        with table_part.open("wb") as file:
            np.save(file, np.asarray(offsets, dtype="<i8"), allow_pickle=False)
    return open_ids(target, wide=encoder.wide)


def open_ids(target: Path, *, wide: bool) -> Ragged:
    """The two files of `encode_files`, mapped into memory, read-only."""
    offsets = np.load(target.with_name(target.name + ".offsets.npy"), mmap_mode="r", allow_pickle=False)
    dtype = np.dtype("<u4" if wide else "<u2")
    if target.stat().st_size == 0:
        return Ragged(joined([], dtype), offsets)
    return Ragged(np.memmap(target, dtype=dtype, mode="r"), offsets)


# --- segments --------------------------------------------------------------------------------------------------------


def encode_segments(tokenizer: Tokenizer, parts: Iterable[Segment]) -> Segments:
    """See `Tokenizer.encode_segments`."""
    if isinstance(parts, (str, *_BYTES_LIKE)):
        raise WrongType("encode_segments takes a list of segments", fix="tok.encode_segments([text])")
    ids: list[Ids] = []
    spans: list[NDArray[np.int64]] = []
    owners: list[NDArray[np.int64]] = []
    for index, part in enumerate(parts):
        found, where = _encode_segment(tokenizer, part)
        ids.append(found)
        spans.append(where)
        owners.append(np.full(len(found), index, dtype=np.int64))
    if not ids:
        return Segments(joined([], tokenizer.dtype), np.empty((0, 2), np.int64), np.empty(0, np.int64))
    return Segments(joined(ids, tokenizer.dtype), np.concatenate(spans), np.concatenate(owners))


def _encode_segment(tokenizer: Tokenizer, part: Segment) -> tuple[Ids, NDArray[np.int64]]:
    if isinstance(part, Special):
        return joined([np.array([special_id(tokenizer.specials, part)])], tokenizer.dtype), np.zeros((1, 2), np.int64)
    if not isinstance(part, Trusted):
        ids = tokenizer.encode(part)
        return ids, byte_spans(ids, tokenizer.byte_lengths())
    ids = tokenizer.encode(part.text, allow_special=tuple(part.allow) if part.allow != "all" else "all")
    lengths = tokenizer.byte_lengths().copy()
    for text, id in special_text.allowed(tokenizer.specials, "all").items():
        lengths[id] = len(text.encode())
    return ids, byte_spans(ids, lengths)


def special_id(specials: Specials, part: Special) -> int:
    """The id that a `Special` segment stands for. Raises `UnknownSpecial`."""
    if isinstance(part.name, str):
        return specials.find(part.name).id
    if any(token.id == part.name for token in specials.tokens):
        return part.name
    raise specials.unknown(part.name)


def decode_segments(tokenizer: Tokenizer, ids: object) -> list[Special | str | bytes]:
    """See `Tokenizer.decode_segments`."""
    array = as_array(ids)
    names = {
        token.id: Special(token.role if token.role is not None else token.id) for token in tokenizer.specials.tokens
    }
    parts: list[Special | str | bytes] = []
    start = 0
    for position in [*np.flatnonzero(np.isin(array, list(names))).tolist(), len(array)]:
        if position > start:
            data = tokenizer.decode_bytes(array[start:position])
            try:
                parts.append(data.decode())
            except UnicodeDecodeError:
                parts.append(data)
        if position < len(array):
            parts.append(names[int(array[position])])
        start = position + 1
    return parts
