"""The tokenizer file: one JSON document in canonical form, specified in docs/formats/tokenizer.md.

This module holds the layout and writes it; `tokenizer_check` judges what a file says. Saving what was loaded gives
the same bytes. There is no clock, host or path in it.
"""

from __future__ import annotations

import hashlib
import json
from binascii import b2a_base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from slmtok.vocabulary import BEHAVIOUR, Vocabulary

FORMAT = "slmtok-tokenizer"
VERSION = 1
TAIL = len('"sha256":"') + 64 + len('"}\n')
"""The file's sha256 covers all bytes but these last ones, which hold it."""
PROVENANCE = (
    "package",
    "source",
    "source_sha256",
    "counts_sha256",
    "corpus_digest",
    "documents",
    "bytes",
    "sliced_from",
)
"""Keys of `provenance`, always all of them, null where nothing is known."""


@dataclass(frozen=True)
class Golden:
    """A text and the ids that it must give for ever."""

    text: bytes
    ids: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TokenizerFile:
    """What a tokenizer file says. `options` are those of its training, after defaults."""

    vocabulary: Vocabulary
    golden: tuple[Golden, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file."""
        head = self._head()
        return head + b'"sha256":"' + hashlib.sha256(head).hexdigest().encode() + b'"}\n'

    @property
    def sha256(self) -> str:
        """The digest that the file carries of all its bytes before it."""
        return self.content[-TAIL + len('"sha256":"') : -len('"}\n')].decode()

    def _head(self) -> bytes:
        vocabulary = self.vocabulary
        pattern = vocabulary.pattern
        body = "merges" if vocabulary.scheme == "bpe" and vocabulary.layout == "own" else "tokens"
        specials = [{"id": token.id, "role": token.role, "text": token.text} for token in vocabulary.specials.tokens]
        golden = [{"bytes_b64": _base64(item.text), "ids": list(item.ids)} for item in self.golden]
        parts = [
            b"{" + _entry("format", FORMAT),
            _entry("version", VERSION),
            _entry("behaviour", BEHAVIOUR),
            _entry("scheme", vocabulary.scheme),
            _entry("layout", vocabulary.layout),
            _entry("pattern", {"name": pattern.name, "regex": pattern.regex, "unicode": pattern.unicode}),
            b'"specials":[\n' + b",\n".join(map(_json, specials)) + b"]",
            b'"' + body.encode() + b'":[\n' + vocabulary.body + b"]",
            _entry("options", dict(sorted(self.options.items()))),
            _entry("provenance", {key: self.provenance.get(key) for key in PROVENANCE}),
            b'"golden":[\n' + b",\n".join(map(_json, golden)) + b"]",
            _entry("fingerprint", vocabulary.fingerprint),
        ]
        return b"".join(part + b",\n" for part in parts)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _entry(key: str, value: object) -> bytes:
    return b'"' + key.encode() + b'":' + _json(value)


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()
