"""slmmodel: small language models over token ids. It knows a tokenizer by its vocabulary metadata alone."""

from __future__ import annotations

from slmmodel.errors import SlmmodelError
from slmmodel.vocab import VocabMeta

__all__ = ["SlmmodelError", "VocabMeta"]
