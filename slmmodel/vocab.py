"""`VocabMeta`: what this package knows of a tokenizer, read from `vocab.json` (docs/formats/vocab.md).

Sizes, special ids by role, the byte length of every id, and the fingerprint of the tokenizer; no text and no merges.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, model_validator

from slmmodel.checks import check_type, vocab_written_again
from slmmodel.errors import CorruptFile, Mismatch, MissingInput, UnknownName, Unreadable, WrongType, unwritten
from slmmodel.indexing import explains_indexing
from slmmodel.json_files import FaultError, Strict, exactly, parse_object, read_bounded, validated
from slmmodel.sizes import round_up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_BYTES = 64 << 20
FIXED_SPECIALS = MappingProxyType({"unk": 0, "bos": 1, "eos": 2, "pad": 3, "sep": 4, "mask": 5})
N_SPECIAL, N_BYTES = 16, 256
SIZES = ("vocab_size", "n_vocab", "padded_vocab")
"""Attributes that users expect of an object that has a `vocab`."""
OF_SIZES = "{own}.vocab.padded_vocab, the rows of an embedding; {own}.vocab.n_vocab, the number of ids"
"""The attributes that stand for `SIZES` of an object `own`."""


@explains_indexing
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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Raises `AttributeError`; for names of tokenizers in other libraries with what stands for them."""
            hint = _elsewhere(name, vars(self).get("specials", {}))
            raise AttributeError(
                f"'VocabMeta' object has no attribute {name!r}{hint}", name=name, obj=None if hint else self
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "specials": dict(self.specials)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state["token_nbytes"].flags.writeable = False
        vars(self).update(state, specials=MappingProxyType(state["specials"]))

    def special(self, role: str) -> int:
        """The id of a role. Raises `UnknownName`."""
        if not isinstance(role, str) or role not in self.specials:
            raise UnknownName(
                f"the vocabulary has no special id with the role {unwritten(role) or repr(role)}",
                limit=f"roles: {', '.join(self.specials) or 'none'}",
                fix="use a tokenizer with that role, or delimiters that it has",
                role=role,
            )
        return self.specials[role]

    def require_same(self, other: VocabMeta, what: str, where: str) -> None:
        """Raises `Mismatch` where `other` is of another tokenizer; `what` has this one."""
        if self.fingerprint != other.fingerprint:
            raise Mismatch(
                f"{what} has another tokenizer",
                where=where,
                limit=f"{what} has the fingerprint {self.fingerprint[:16]}…, the other {other.fingerprint[:16]}…",
                fix="train both on data of one tokenizer",
            )

    @property
    def pad_id(self) -> int:
        """The id in padding columns: `pad`, else another special, else 0. Padding is always masked."""
        return next((self.specials[role] for role in ("pad", "eos", "bos") if role in self.specials), 0)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> VocabMeta:
        """Reads a `vocab.json`. Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`, each naming the file."""
        if not isinstance(path, str | os.PathLike):
            fact = f"path is a {type(path).__name__}, not a str or a Path"
            raise WrongType(fact, fix="VocabMeta.load('data/vocab.json')")
        try:
            data = read_bounded(Path(path), MAX_BYTES)
        except OSError as error:
            kind = MissingInput if isinstance(error, (FileNotFoundError, NotADirectoryError)) else Unreadable
            raise kind(
                f"cannot read {str(path)!r}: {error.strerror or error}",
                fix=vocab_written_again(Path(path)) or "name the folder that slmtok pack wrote; it holds a vocab.json",
                path=str(path),
            ) from error
        except FaultError as fault:
            raise _invalid(str(path), str(fault)) from None
        return cls.parse(data, source=str(path))

    @classmethod
    def parse(cls, data: bytes, *, source: str) -> VocabMeta:
        """Reads the bytes of a `vocab.json`; `source` names them in errors."""
        import numpy as np

        check_type("data", data, bytes, "VocabMeta.load('data/vocab.json'), which reads the file")
        check_type("source", source, str, "source='vocab.json', the name in errors")
        try:
            found = parse_object(data)
            if "format" not in found:
                raise _of_another_program(source)
            table = validated(found, _VocabFile, source, fix=_written_again(source))
        except FaultError as fault:
            raise _invalid(source, str(fault)) from None
        lengths = np.array(table.byte_lengths, dtype=np.uint32)
        lengths.flags.writeable = False
        n_special = N_SPECIAL if table.has_own_layout else 0
        specials = MappingProxyType(table.specials)
        return cls(table.n_vocab, table.padded_vocab, specials, n_special, lengths, table.fingerprint)


_SIZES = ("vocab_size", "n_words", "n_tokens", "size", "get_vocab_size", "get_piece_size", "max_token_value")
_OF_TEXT = (
    "encode",
    "decode",
    "encode_ordinary",
    "encode_batch",
    "tokenize",
    "detokenize",
    "token_to_id",
    "id_to_token",
)
"""Names of tokenizers in other libraries: of their size, and of calls that take or give text."""
_SPECIAL = re.compile(r"(bos|eos|pad|unk|sep|mask|eot)(_token)?(_id)?")


def _elsewhere(name: str, specials: Mapping[str, int]) -> str:
    """What stands for the name of another library, as the end of a sentence; "" for other names."""
    if name in _SIZES:
        return "; padded_vocab is the number of rows of an embedding, n_vocab the number of ids"
    if name in _OF_TEXT:
        return f"; it knows ids and no text: slmtok.load('tok.json').{name}, of the tokenizer beside the vocab.json"
    found = _SPECIAL.fullmatch(name)
    role = found and found[1].replace("eot", "eos")
    return f"; special({role!r}) is the id" if role in specials else ""


def _written_again(source: str) -> str:
    return f"write it again: slmtok vocab TOK --metadata -o {shlex.quote(source)} --force"


def _of_another_program(source: str) -> CorruptFile:
    """The error for JSON that does not say its format, such as the vocab.json of Hugging Face, which is kept."""
    path = Path(source)
    others = (path.with_stem(f"{path.stem}-other{number}") for number in chain([""], (f"-{at}" for at in count(2))))
    kept = shlex.quote(str(next(each for each in others if not each.exists())))
    written = shlex.quote(source)
    return CorruptFile(
        f"{path.name} lacks the key 'format': it was not written by slmtok",
        where=source,
        limit="vocabulary metadata of slmtok",
        fix=f"mv -n {written} {kept} && slmtok vocab TOK --metadata -o {written}",
        path=source,
    )


def _invalid(source: str, fault: str) -> CorruptFile:
    fact = f"{source} is not valid vocabulary metadata: it {fault}"
    return CorruptFile(fact, where=source, fix=_written_again(source), path=source)


class _VocabFile(Strict):
    """The JSON object of a `vocab.json`."""

    format: Literal["slmtok-vocab"]
    version: Annotated[int, exactly(1)]
    n_vocab: int = Field(gt=0, lt=1 << 24)
    padded_vocab: int
    specials: dict[str, NonNegativeInt]
    byte_lengths: list[Annotated[int, Field(ge=0, lt=1 << 32)]]
    fingerprint: str = Field(pattern="^[0-9a-f]{64}$")

    @property
    def has_own_layout(self) -> bool:
        """Whether this is the layout of slmtok, which its fixed roles identify: specials, bytes, merges."""
        return self.specials.items() >= FIXED_SPECIALS.items()

    @model_validator(mode="after")
    def _check(self) -> _VocabFile:
        lengths, n_vocab = self.byte_lengths, self.n_vocab
        if self.padded_vocab != round_up(n_vocab, 64):
            raise ValueError(f"padded_vocab is {self.padded_vocab}, not {n_vocab} rounded up to a multiple of 64")
        if len(lengths) != n_vocab:
            raise ValueError(f"byte_lengths has {len(lengths)} entries, n_vocab is {n_vocab}")
        for role, id in self.specials.items():
            if id >= n_vocab or lengths[id]:
                raise ValueError(f"specials: {role!r} has the id {id}, which does not exist or has bytes")
        if self.has_own_layout:
            expected = [0] * N_SPECIAL + [1] * N_BYTES + [length or 1 for length in lengths[N_SPECIAL + N_BYTES :]]
            if lengths != expected[:n_vocab]:
                id = next(id for id, length in enumerate(lengths) if length != expected[id])
                raise ValueError(f"id {id} has {lengths[id]} bytes; specials have none, bytes one, merges at least one")
        return self
