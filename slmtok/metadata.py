"""`vocab.json`: all that a model ever knows of a tokenizer.

Size, padded size, special ids by role, the byte length of every id and the fingerprint; no text and no merges. The
format is specified in docs/formats/vocab.md; `slmmodel.vocab` reads it without importing this package.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmtok.vocabulary import Vocabulary

FORMAT = "slmtok-vocab"
VERSION = 1


def metadata(vocabulary: Vocabulary) -> dict[str, object]:
    """The content of `vocab.json`, in the order of its keys."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "n_vocab": vocabulary.n_vocab,
        "padded_vocab": vocabulary.padded_vocab,
        "specials": dict(vocabulary.specials),
        "byte_lengths": vocabulary.byte_lengths.tolist(),
        "fingerprint": vocabulary.fingerprint,
    }


def render(content: dict[str, object]) -> bytes:
    """The bytes of `vocab.json`: one key a line, UTF-8, final newline."""
    lines = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in content.items()]
    return ("{" + ",\n".join(lines) + "}\n").encode()
