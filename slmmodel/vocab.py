"""`VocabInfo`: all that a model knows of a tokenizer, read from `vocab.json` (docs/formats/vocab.md).

Sizes, special ids by role, the byte length of every id, the tokenizer's fingerprint. No text, no merges, no tokenizer.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from slmmodel.errors import CorruptVocab, MissingVocab, UnknownRole, UnsupportedVocab

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = "slmtok-vocab"
VERSION = 1
MAX_BYTES = 64 << 20
_KEYS = {"format", "version", "n_vocab", "padded_vocab", "specials", "byte_lengths", "fingerprint"}


@dataclass(frozen=True, eq=False)
class VocabInfo:
    """Vocabulary metadata. `padded_vocab` is the size of embeddings; ids from `n_vocab` up are never targets."""

    n_vocab: int
    padded_vocab: int
    specials: Mapping[str, int]
    byte_lengths: NDArray[np.uint32]
    """Bytes of text that each id stands for, shape (n_vocab,), uint32, read-only; 0 for specials and holes."""
    fingerprint: str

    def special(self, role: str) -> int:
        """The id of a role. Raises `UnknownRole`."""
        if role not in self.specials:
            raise UnknownRole(
                f"no special id has the role {role!r}", limit=f"roles: {', '.join(self.specials) or 'none'}", role=role
            )
        return self.specials[role]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> VocabInfo:
        """Reads a `vocab.json`. Raises `MissingVocab`, `CorruptVocab`, `UnsupportedVocab`, each naming the file."""
        try:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise MissingVocab(f"cannot read {str(path)!r}: {error.strerror}", path=str(path)) from error
        return cls.parse(data, source=str(path))

    @classmethod
    def parse(cls, data: bytes, *, source: str) -> VocabInfo:
        """Reads the bytes of a `vocab.json`; `source` names them in errors."""
        try:
            return _read(_table(data, source))
        except _FaultError as fault:
            raise CorruptVocab(
                f"{source} is not sound vocabulary metadata: {fault}",
                where=source,
                fix="make it again from the tokenizer file",
                path=source,
            ) from None


class _FaultError(Exception):
    """A fault found where the name of the file is not known."""


def _table(data: bytes, source: str) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise _FaultError(f"it has more than {MAX_BYTES:,} bytes")
    try:
        table = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise _FaultError(f"it is not JSON ({error})") from None
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise _FaultError(f"it does not say format {FORMAT!r}")
    if table.get("version") != VERSION:
        raise UnsupportedVocab(
            f"{source} has version {table.get('version')!r}", limit=f"this package reads version {VERSION}", path=source
        )
    for key in sorted(_KEYS ^ set(table)):
        raise _FaultError(f"the key {key!r} is {'missing' if key in _KEYS else 'unknown'}")
    return table


def _read(table: dict[str, Any]) -> VocabInfo:
    import numpy as np

    n_vocab, padded = table["n_vocab"], table["padded_vocab"]
    if type(n_vocab) is not int or not 0 < n_vocab < 1 << 24:
        raise _FaultError(f"n_vocab is {n_vocab!r}")
    if type(padded) is not int or padded != -(-n_vocab // 64) * 64:
        raise _FaultError(f"padded_vocab is {padded!r}, not {n_vocab} rounded up to a multiple of 64")
    lengths = table["byte_lengths"]
    if not isinstance(lengths, list) or len(lengths) != n_vocab:
        raise _FaultError(f"byte_lengths is no list of {n_vocab} numbers")
    if not all(type(length) is int and 0 <= length < 1 << 32 for length in lengths):
        raise _FaultError("byte_lengths holds something else than lengths")
    specials = table["specials"]
    if not isinstance(specials, dict) or not all(type(id) is int and 0 <= id < n_vocab for id in specials.values()):
        raise _FaultError("specials is no table of roles and ids below n_vocab")
    for role, id in specials.items():
        if lengths[id]:
            raise _FaultError(f"the special {role!r} (id {id}) has a byte length, {lengths[id]}")
    if not isinstance(table["fingerprint"], str) or not re.fullmatch("[0-9a-f]{64}", table["fingerprint"]):
        raise _FaultError("fingerprint is not 64 hexadecimal digits")
    array = np.array(lengths, dtype=np.uint32)
    array.flags.writeable = False
    return VocabInfo(n_vocab, padded, MappingProxyType(specials), array, table["fingerprint"])
