"""The only module of `slmtok` that imports torch: `return_tensors="pt"` of the Hugging Face adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.errors import MissingExtra

if TYPE_CHECKING:
    from numpy.typing import NDArray


def to_tensor(array: NDArray[Any]) -> Any:
    """A torch tensor that shares the array's memory. Raises `MissingExtra` if torch is not installed."""
    try:
        import torch
    except ImportError:
        raise MissingExtra(
            "return_tensors='pt' needs torch, which is not installed",
            fix="pip install 'slmtok[model]', or return_tensors='np'",
        ) from None
    return torch.from_numpy(array)
