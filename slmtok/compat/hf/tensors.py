"""Columns as numpy arrays or torch tensors: the one place of `slmtok` that imports torch, and only when asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.errors import InvalidOption, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = ("np", "pt")


def check_kind(return_tensors: object) -> None:
    """Raises `InvalidOption` unless `return_tensors` is None or a kind of tensor that there is."""
    if return_tensors is not None and return_tensors not in KINDS:
        raise InvalidOption(
            f"return_tensors={return_tensors!r} is unknown",
            limit="'np' (numpy), 'pt' (torch), or None for lists",
            fix="return_tensors='np'",
            option="return_tensors",
        )


def tensor(name: str, rows: Sequence[Any], kind: str) -> Any:
    """A column as one int64 array or tensor. Raises `InvalidOption` where its rows differ in length."""
    import numpy as np

    lengths = {len(row) for row in rows if hasattr(row, "__len__")}
    if len(lengths) > 1:
        raise InvalidOption(
            f"the rows of {name} have {min(lengths)} to {max(lengths)} ids, which no tensor holds",
            limit="rows of one length",
            fix="padding=True, and truncation=True with max_length= where rows may be too long",
            option="return_tensors",
        )
    array = np.asarray(rows, dtype=np.int64)
    return array if kind == "np" else _torch().from_numpy(np.ascontiguousarray(array))


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtra(
            "return_tensors='pt' needs torch, which is not installed",
            fix="pip install 'slmtok[model]', or return_tensors='np'",
        ) from None
    return torch
