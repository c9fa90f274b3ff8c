"""Judging what callers hand over: texts, ids, batches, numbers of threads.

Each error says what the caller may have meant: a path where text belongs, one text where many do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from slmtok.errors import InvalidOption, UnknownId, WrongType
from slmtok.ragged import Ragged
from slmtok.whole_numbers import U32, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmtok.aliases import Ids, Text
    from slmtok.specials import Specials

BYTES_LIKE = (bytes, bytearray, memoryview)


def one_text(x: object) -> Text:
    """`x`, if it is one text. Raises `WrongType` with what to call instead."""
    if isinstance(x, (str, *BYTES_LIKE)):
        return x
    if isinstance(x, os.PathLike):
        raise WrongType(f"{str(x)!r} is a path, not text", fix="read the file, or tok.encode_files([path], out)")
    if isinstance(x, (list, tuple)):
        raise WrongType(f"a {type(x).__name__} is not one text", fix="tok.encode_batch(texts)")
    raise WrongType(f"text must be str or bytes, not {type(x).__name__}")


def many_texts(xs: object, call: str) -> Sequence[Text]:
    """`xs` as a sequence of texts. Raises `WrongType` for a lone text or path."""
    if isinstance(xs, (str, *BYTES_LIKE)):
        raise WrongType(f"{call} takes many texts, this is one {type(xs).__name__}", fix=f"tok.{call}([text])")
    if isinstance(xs, os.PathLike):
        raise WrongType(f"{str(xs)!r} is a path, not texts", fix="tok.encode_files([path], out)")
    if not isinstance(xs, Iterable):
        raise WrongType(f"{call} takes many texts, not {type(xs).__name__}")
    texts = xs if isinstance(xs, (list, tuple)) else list(xs)
    for index, text in enumerate(texts):
        if not isinstance(text, (str, *BYTES_LIKE)):
            raise WrongType(
                f"text {index} is {type(text).__name__}, not str or bytes",
                fix="tok.encode_files(paths, out)" if isinstance(text, os.PathLike) else None,
            )
    return cast("Sequence[Text]", texts)


def threads(value: int) -> int:
    """`value`, if it is a number of threads, 0 for all. Raises `InvalidOption`, `WrongType`."""
    return whole("threads", value, 0, U32)


def check_progress(progress: object) -> None:
    """Raises `WrongType` unless `progress` can be called, or is None."""
    if progress is not None and not callable(progress):
        raise WrongType(
            f"progress must be a function of (stage, done, total), not {type(progress).__name__}",
            fix="progress=lambda stage, done, total: print(stage, done, total)",
        )


def check_unit(unit: str) -> None:
    """Raises `InvalidOption` unless `unit` is one that spans come in."""
    if unit not in ("bytes", "chars"):
        raise InvalidOption(f"unit {unit!r} is unknown", limit="bytes, chars", option="unit")


def joined(parts: Sequence[Ids], dtype: np.dtype[Any]) -> Ids:
    """One read-only array of all parts."""
    ids = np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype=dtype)
    ids.flags.writeable = False
    return cast("Ids", ids)


def one_row(ids: object) -> object:
    """`ids` as one sequence for the engine. Raises `WrongType` for a batch or text."""
    if isinstance(ids, Ragged):
        raise WrongType("a Ragged holds many id sequences", fix="tok.decode_batch(ragged)")
    if isinstance(ids, (str, *BYTES_LIKE)):
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
    if isinstance(batch, (str, *BYTES_LIKE)):
        raise WrongType("decode_batch takes many id sequences", fix="tok.decode(ids)")
    arrays = []
    for row in batch:
        if isinstance(row, (int, np.integer)):
            raise WrongType("decode_batch takes many id sequences, this is one", fix="tok.decode(ids)")
        arrays.append(as_array(row))
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in arrays], out=offsets[1:])
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64), offsets
