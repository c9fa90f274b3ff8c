"""Judging ids that come from outside: sequences of int, each unsigned and of at most 32 bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import index
from typing import TYPE_CHECKING, Any

from slmtok.errors import UnknownId, WrongType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LARGEST = 2**32 - 1


class IdOverflow(UnknownId, OverflowError):  # noqa: N818 (named as the others are)
    """An id that is negative or exceeds 32 bits."""


def row(tokens: object) -> list[int]:
    """One sequence of ids as a list. Raises `WrongType`."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise WrongType(
            f"ids must be a sequence of int, not {type(tokens).__name__}", fix="enc.decode([id]) for one id"
        )
    numbers: Any = tokens.tolist() if hasattr(tokens, "tolist") else tokens
    try:
        return list(map(index, numbers))
    except TypeError:
        raise WrongType("ids must be whole numbers", fix="enc.encode(text) gives ids") from None


def rows(batch: object) -> tuple[list[int], NDArray[np.int64]]:
    """(all ids, offsets) of a batch. Raises `WrongType`."""
    import numpy as np

    if isinstance(batch, (str, bytes)) or not isinstance(batch, Iterable):
        raise WrongType(
            f"a batch is a sequence of id sequences, not {type(batch).__name__}", fix="enc.decode_batch([ids])"
        )
    lists = [row(tokens) for tokens in batch]
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in lists], out=offsets[1:])
    return list(chain.from_iterable(lists)), offsets


def one_id(token: object) -> int:
    """A single id. Raises `WrongType`, `IdOverflow`."""
    ids = row([token])
    check_overflow(ids)
    return ids[0]


def check_overflow(ids: Sequence[int], document: int | None = None) -> None:
    """Raises `IdOverflow` for the first id that is negative or exceeds 32 bits."""
    for position, id in enumerate(ids):
        if not 0 <= id <= _LARGEST:
            raise IdOverflow(
                f"id {id} at position {position} is no token",
                where=None if document is None else f"document {document}",
                limit=f"0 <= id <= {_LARGEST}",
                fix="decode what enc.encode(text) gave",
                id=id,
                position=position,
            )
