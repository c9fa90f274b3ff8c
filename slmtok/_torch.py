"""The only module of `slmtok` that imports torch: ids as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.errors import missing_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray


def to_tensor(array: NDArray[Any]) -> Any:
    """A torch tensor of the same dtype, which shares the memory of a writable array.

    Raises `MissingExtra` if torch is not installed.
    """
    torch = _torch()
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def numpy_dtype(dtype: Any) -> Any:
    """The numpy dtype of a torch dtype; anything else as it is. Raises `TypeError` for one that numpy lacks."""
    if type(dtype).__module__ != "torch":
        return dtype
    return _torch().empty(0, dtype=dtype).numpy().dtype


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise missing_extra("a tensor", "torch", more=", or ask for numpy arrays") from None
    return torch
