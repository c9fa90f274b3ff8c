"""`VocabMeta`: what this package knows of a tokenizer, read from `vocab.json` (docs/formats/vocab.md).

Sizes, special ids by role, the byte length of every id, and the fingerprint of the tokenizer; no text and no merges.
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

from slmmodel.errors import CorruptFile, MissingInput, UnknownName, UnsupportedFormat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = "slmtok-vocab"
VERSION = 1
MAX_BYTES = 64 << 20
FIXED_SPECIALS = MappingProxyType({"unk": 0, "bos": 1, "eos": 2, "pad": 3, "sep": 4, "mask": 5})
N_SPECIAL, N_BYTES = 16, 256
_KEYS = {"format", "version", "n_vocab", "padded_vocab", "specials", "byte_lengths", "fingerprint"}


@dataclass(frozen=True, eq=False)
class VocabMeta:
    """Vocabulary metadata. `padded_vocab` is the size of embeddings; ids from `n_vocab` up are never targets."""

    n_vocab: int
    padded_vocab: int
    specials: Mapping[str, int]
    n_special: int
    """16 in the layout of slmtok, where all ids below have no bytes; 0 in tables with the ids of another tokenizer."""
    token_nbytes: NDArray[np.uint32]
    """Bytes of each id: uint32 [n_vocab], read-only; 0 for specials and unused ids."""
    fingerprint: str

    def special(self, role: str) -> int:
        """The id of a role. Raises `UnknownName`."""
        if role not in self.specials:
            raise UnknownName(
                f"the vocabulary has no special id with the role {role!r}",
                limit=f"roles: {', '.join(self.specials) or 'none'}",
                fix="use a tokenizer with that role, or delimiters that it has",
                role=role,
            )
        return self.specials[role]

    @property
    def pad_id(self) -> int:
        """The id at padding positions: `pad`, else another special, else 0. Padding is always masked."""
        return next((self.specials[role] for role in ("pad", "eos", "bos") if role in self.specials), 0)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> VocabMeta:
        """Reads a `vocab.json`. Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`, each naming the file."""
        try:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise MissingInput(
                f"cannot read {str(path)!r}: {error.strerror}",
                fix="name the folder that slmtok pack wrote; it holds a vocab.json",
                path=str(path),
            ) from error
        return cls.parse(data, source=str(path))

    @classmethod
    def parse(cls, data: bytes, *, source: str) -> VocabMeta:
        """Reads the bytes of a `vocab.json`; `source` names them in errors."""
        try:
            return _read(_table(data, source))
        except _FaultError as fault:
            raise CorruptFile(
                f"{source} is not valid vocabulary metadata: {fault}",
                where=source,
                fix="write it again: slmtok vocab TOK --metadata",
                path=source,
            ) from None


class _FaultError(Exception):
    """A fault, found where the file name is unknown."""


def _table(data: bytes, source: str) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise _FaultError(f"it has more than {MAX_BYTES:,} bytes")
    try:
        table = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise _FaultError(f"it is not JSON ({error})") from None
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise _FaultError(f"its format is not {FORMAT!r}")
    if table.get("version") != VERSION:
        raise UnsupportedFormat(
            f"{source} has version {table.get('version')!r}",
            limit=f"this package reads version {VERSION}",
            fix="write it again: slmtok vocab TOK --metadata, or install a newer slmtok",
            path=source,
        )
    for key in sorted(_KEYS ^ set(table)):
        raise _FaultError(f"the key {key!r} is {'missing' if key in _KEYS else 'unknown'}")
    return table


def _read(table: dict[str, Any]) -> VocabMeta:
    import numpy as np

    n_vocab, padded = table["n_vocab"], table["padded_vocab"]
    if type(n_vocab) is not int or not 0 < n_vocab < 1 << 24:
        raise _FaultError(f"n_vocab is {n_vocab!r}")
    if type(padded) is not int or padded != -(-n_vocab // 64) * 64:
        raise _FaultError(f"padded_vocab is {padded!r}, not {n_vocab} rounded up to a multiple of 64")
    lengths = table["byte_lengths"]
    if not isinstance(lengths, list) or len(lengths) != n_vocab:
        raise _FaultError(f"byte_lengths is not a list of {n_vocab} numbers")
    if not all(type(length) is int and 0 <= length < 1 << 32 for length in lengths):
        raise _FaultError("byte_lengths holds a value that is not a length")
    specials = table["specials"]
    if not isinstance(specials, dict) or not all(type(id) is int and 0 <= id < n_vocab for id in specials.values()):
        raise _FaultError("specials is not a table of roles and ids below n_vocab")
    for role, id in specials.items():
        if lengths[id]:
            raise _FaultError(f"the special {role!r} (id {id}) has a byte length, {lengths[id]}")
    if not isinstance(table["fingerprint"], str) or not re.fullmatch("[0-9a-f]{64}", table["fingerprint"]):
        raise _FaultError("fingerprint is not 64 hexadecimal digits")
    array = np.array(lengths, dtype=np.uint32)
    array.flags.writeable = False
    return VocabMeta(
        n_vocab, padded, MappingProxyType(specials), _n_special(specials, array), array, table["fingerprint"]
    )


def _n_special(specials: Mapping[str, int], lengths: NDArray[np.uint32]) -> int:
    """16 for the layout of slmtok, which its fixed roles identify and whose byte lengths are checked; else 0."""
    if any(specials.get(role) != id for role, id in FIXED_SPECIALS.items()):
        return 0
    first_merge = N_SPECIAL + N_BYTES
    for start, stop, sound, rule in (
        (0, N_SPECIAL, lengths[:N_SPECIAL] == 0, "specials have none"),
        (N_SPECIAL, first_merge, lengths[N_SPECIAL:first_merge] == 1, "bytes have one"),
        (first_merge, len(lengths), lengths[first_merge:] >= 1, "tokens have one at least"),
    ):
        if not sound.all():
            id = start + int(sound.argmin())
            raise _FaultError(f"id {id} has {int(lengths[id])} bytes; of the ids {start} to {stop - 1}, {rule}")
    return N_SPECIAL
