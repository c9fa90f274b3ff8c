"""Judging ids that callers hand over, and telling what is wrong with one: which, where, and what would be right.

The engine refuses what is not in the vocabulary. Numbers that it cannot even take, and things that are no numbers, are
told here, in the same words.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any, cast

from slmtok.errors import UnknownId, WrongType
from slmtok.ragged import Ragged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Encoder
    from slmtok.specials import Specials

_TEXT = (str, bytes, bytearray, memoryview)
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def one_row(ids: object) -> object:
    """`ids` as one sequence for the engine. Raises `WrongType` for a batch or text."""
    if isinstance(ids, Ragged):
        raise WrongType("a Ragged holds many id sequences", fix="tok.decode_batch(ragged)")
    if isinstance(ids, _TEXT):
        raise WrongType(f"ids must be integers, this is {type(ids).__name__}", fix="tok.encode(text) gives ids")
    if isinstance(ids, (list, tuple)) or _is_array(ids):
        return ids
    if not isinstance(ids, Iterable):
        raise WrongType(f"ids must be an array or a sequence, not {type(ids).__name__}", fix="tok.decode([id])")
    return list(ids)


def _is_array(ids: object) -> bool:
    import numpy as np

    return isinstance(ids, np.ndarray)


def as_array(ids: object, n_vocab: int | None = None, document: int | None = None) -> NDArray[np.int64]:
    """Ids as int64, shape (n,). Raises `UnknownId` for a number that 64 bits do not hold, `WrongType` for no number."""
    import numpy as np

    row = one_row(ids)
    try:
        array = np.asarray(row)
    except (ValueError, OverflowError):
        array = np.empty((0, 0))
    if array.ndim == 1 and array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array.astype(np.int64, copy=False)
    return np.array(checked(row, n_vocab, document), dtype=np.int64)


def checked(row: object, n_vocab: int | None = None, document: int | None = None) -> list[int]:
    """The numbers of `row`, looked at one by one. Raises as `as_array`, with the position."""
    import numpy as np

    if isinstance(row, np.ndarray) and row.ndim != 1:
        raise WrongType(
            f"ids have the shape {row.shape}", limit="one dimension", fix="tok.decode_batch(rows), or ids.ravel()"
        )
    numbers: list[int] = []
    for position, id in enumerate(cast("Iterable[Any]", row)):
        try:
            numbers.append(index(id))
        except TypeError:
            raise WrongType(
                f"id {id!r} is {type(id).__name__}, not a whole number",
                where=_place(position, document),
                fix="tok.encode(text) gives ids",
            ) from None
        if not _LEAST <= numbers[-1] <= _MOST:
            raise unknown(numbers[-1], n_vocab, position, document)
    return numbers


def unknown(id: int, n_vocab: int | None, position: int, document: int | None = None) -> UnknownId:
    """The error for an id that no vocabulary has, in the engine's words."""
    fields = {"id": id, "position": position, "n_vocab": n_vocab, "document": document}
    return UnknownId(
        f"id {id} is not in the vocabulary",
        where=_place(position, document),
        limit=f"0 <= id < {n_vocab} (n_vocab)" if n_vocab else None,
        fix=FIX,
        **{name: value for name, value in fields.items() if value is not None},
    )


def completed(error: UnknownId) -> UnknownId:
    """The engine's error with a remedy, and with what an id is that lies within the limit: a hole."""
    id, n_vocab = error.fields.get("id"), error.fields.get("n_vocab")
    if isinstance(id, int) and isinstance(n_vocab, int) and 0 <= id < n_vocab and error.limit:
        error.limit = error.limit.removesuffix(_HOLE) + _HOLE
    error.fix = error.fix or FIX
    return error


FIX = "decode with the tokenizer that made the ids"
_HOLE = ", and this one is a hole"


def _place(position: int, document: int | None) -> str:
    return f"position {position}" + (f" of document {document}" if document is not None else "")


def rows(batch: Ragged | Iterable[Any], n_vocab: int | None = None) -> tuple[object, NDArray[np.int64]]:
    """(flat ids, offsets) of a batch. Raises `WrongType`, `UnknownId`, each with the document."""
    import numpy as np

    if isinstance(batch, Ragged):
        return batch.ids, batch.offsets
    if isinstance(batch, _TEXT) or not isinstance(batch, Iterable):
        raise WrongType(f"decode_batch takes many id sequences, not {type(batch).__name__}", fix="tok.decode(ids)")
    arrays = []
    for document, row in enumerate(batch):
        if isinstance(row, (int, np.integer)):
            raise WrongType("decode_batch takes many id sequences, this is one", fix="tok.decode(ids)")
        arrays.append(as_array(row, n_vocab, document))
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in arrays], out=offsets[1:])
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64), offsets


def decode_row(encoder: Encoder, row: object, document: int | None = None) -> bytes:
    """The bytes of one row. Raises `UnknownId`, `WrongType`, with the position."""
    try:
        return encoder.decode_bytes(row)
    except UnknownId as error:
        position = error.fields.get("position")
        if isinstance(position, int):
            error.where = _place(position, document)
        if document is not None:
            error.fields["document"] = document
        raise completed(error) from None
    except (OverflowError, TypeError):
        return encoder.decode_bytes(checked(row, encoder.n_vocab, document))


def decode(encoder: Encoder, ids: object, specials: Specials | None = None) -> bytes:
    """The bytes of ids, without `specials` if any are given. Raises `UnknownId`, `WrongType`, with the position."""
    if specials is None:
        return decode_row(encoder, one_row(ids))
    import numpy as np

    array = as_array(ids, encoder.n_vocab)
    try:
        return encoder.decode_bytes(array[~np.isin(array, [token.id for token in specials.tokens])])
    except UnknownId:
        return decode_row(encoder, array)  # raises, with the position among all ids


def decode_batch(encoder: Encoder, batch: Ragged | Iterable[Any], threads: int) -> list[bytes]:
    """The bytes of each row. Raises `UnknownId`, `WrongType`, with position and document; `OptionError`."""
    import numpy as np

    ids, offsets = rows(batch, encoder.n_vocab)
    try:
        return encoder.decode_batch(ids, offsets, threads=threads)
    except (UnknownId, OverflowError, TypeError):
        bounds = offsets.tolist()
        for document, (start, stop) in enumerate(pairwise(bounds)):
            decode_row(encoder, np.asarray(ids)[start:stop], document)
        raise
