"""Ids in the integer types and shapes that models take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.checks import check_choice
from slmtok.errors import OptionError, WrongType, value_text

if TYPE_CHECKING:
    from numpy.typing import NDArray


def cast_ids(ids: NDArray[Any], dtype: Any, largest: int) -> NDArray[Any]:
    """A writable copy of `ids` as `dtype`, a numpy or torch integer type that holds ids up to `largest`.

    Raises `WrongType` for what is no type of integers, `OptionError` for one that is too narrow.
    """
    import numpy as np

    from slmtok._torch import numpy_dtype

    try:
        wanted = np.dtype(numpy_dtype(dtype))
    except (TypeError, ValueError):
        wanted = np.dtype(np.void)
    if wanted.kind not in "iu":
        raise WrongType(f"dtype={value_text(dtype)} is not a type of integers", fix="dtype='int64'", option="dtype")
    if largest > np.iinfo(wanted).max:
        kinds = ("uint16", "uint32") if wanted.kind == "u" else ("int16", "int32")
        least = next((kind for kind in kinds if largest <= np.iinfo(kind).max), "int64")
        raise OptionError(
            f"{wanted} holds no id above {np.iinfo(wanted).max}",
            limit=f"ids up to {largest}",
            fix=f"dtype={least!r}, the smallest that does",
            option="dtype",
        )
    return ids.astype(wanted)


def convert(ids: NDArray[Any], dtype: Any, return_tensors: str | None, n_vocab: int) -> Any:
    """The ids of one text for `Tokenizer.encode` with these options; see there."""
    if return_tensors is not None:
        check_choice("return_tensors", return_tensors, ("np", "pt"))
    array = cast_ids(ids, "int64" if dtype is None else dtype, n_vocab - 1)
    if return_tensors is None:
        return array
    from slmtok._torch import to_tensor

    return to_tensor(array[None]) if return_tensors == "pt" else array[None]
