"""slmmodel: small language models over token ids. It knows a tokenizer by its vocabulary metadata alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmmodel.errors import SlmmodelError
    from slmmodel.vocab import VocabMeta

__all__ = ["SlmmodelError", "VocabMeta"]

_HOMES = {"SlmmodelError": "slmmodel.errors", "VocabMeta": "slmmodel.vocab"}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'slmmodel' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
