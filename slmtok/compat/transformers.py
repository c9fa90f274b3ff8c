"""`as_hf` under the name of transformers, whose own classes are errors here that name it."""

from __future__ import annotations

from typing import NoReturn

from slmtok.compat import as_hf, import_meant

__all__ = ["as_hf"]


def __getattr__(name: str) -> NoReturn:
    """Raises `ImportError` for a name that slmtok has something for, else `AttributeError`."""
    if fix := import_meant(name):
        # `from ... import` shows no message of an `AttributeError`.
        raise ImportError(f"{__name__} has no {name!r}\n  fix:   {fix}", name=name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; slmtok.compat.as_hf(tok) has its calls")
