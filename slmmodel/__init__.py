"""slmmodel: small language models over token ids. It knows a tokenizer by its vocabulary metadata alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slmmodel.errors import SlmmodelError

if TYPE_CHECKING:
    from slmmodel.vocab import VocabMeta

__all__ = ["SlmmodelError", "VocabMeta"]


def __getattr__(name: str) -> object:
    if name != "VocabMeta":
        raise AttributeError(f"module 'slmmodel' has no attribute {name!r}")
    # Here, because it imports pydantic, which `slm --help` does without.
    from slmmodel.vocab import VocabMeta

    return VocabMeta
