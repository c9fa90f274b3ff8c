"""The functions that the course CS336 asks its students to write, on our engine: `train_bpe` and a `Tokenizer`.

Rules of the course: GPT-2's pattern; special tokens cut the text and are not counted; of equally frequent pairs the
lexicographically greatest pair of byte strings is merged. `vocab_size` is the final total. The ids are, in this order:
special tokens as they were given, the 256 bytes, the merges as they were learned. No part of the result depends on it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.checks import U32, check_int
from slmtok.compat._learn import many, merges_of, one_str, room, unknown_id
from slmtok.compat.tiktoken.special_rules import Rules
from slmtok.errors import CorruptFile, InvalidMerges, InvalidSpecials, InvalidTokens, WrongType
from slmtok.token_text import unicode_to_bytes

if TYPE_CHECKING:
    from slmtok._engine import Encoder

__all__ = ["Tokenizer", "train_bpe"]


def train_bpe(
    input_path: str | os.PathLike[str], vocab_size: int, special_tokens: Sequence[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """(vocab, merges) of a text file: id to bytes, and pairs of token bytes in the order in which they were learned.

    Raises `MissingInput`, `VocabularyTooSmall` below 256 and the special tokens, `InvalidSpecials`.
    """
    from slmtok._engine import Pattern

    specials = _specials(special_tokens)
    n_merges = room(vocab_size, 256 + len(specials))
    rules = Rules(allowed=frozenset(specials), refused=frozenset())
    data = _read(input_path)
    parts = _cut(data, rules)
    learned = merges_of(parts, n_merges, Pattern("gpt2"), ties="bytes-greatest")
    token = [bytes([byte]) for byte in range(256)]
    merges = []
    for left, right in learned:
        merges.append((token[left], token[right]))
        token.append(token[left] + token[right])
    return dict(enumerate([text.encode() for text in specials] + token)), merges


def _read(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file. Raises `MissingInput`, `Unreadable`."""
    from slmtok.checks import check_path
    from slmtok.files import read_file

    place = Path(check_path(path))
    return read_file(place, place.stat().st_size if place.is_file() else 0)


def _cut(data: bytes, rules: Rules) -> list[str | bytes]:
    """The text between special tokens. Bytes that are no UTF-8 are kept."""
    if not rules.allowed:
        return [data]
    text = data.decode("utf-8", "surrogateescape")
    return [part.encode("utf-8", "surrogateescape") for part in rules.cut(text)[::2] if part]


def _specials(tokens: Iterable[str] | None) -> list[str]:
    if isinstance(tokens, str):
        raise WrongType("special_tokens is one str", fix=f"special_tokens=[{tokens!r}]")
    found = list(dict.fromkeys(map(one_str, many(tokens or (), "special_tokens"))))
    if "" in found:
        raise InvalidSpecials("a special token is empty", limit="at least one character", fix="leave it out")
    return found


def _vocab(vocab: object) -> dict[int, bytes]:
    """Id to bytes. Raises `WrongType`, `InvalidOption` for an id out of range."""
    if not isinstance(vocab, Mapping):
        raise WrongType(f"vocab must be a dict from id to bytes, not {type(vocab).__name__}", fix="as train_bpe gives")
    return {check_int("id", id, 0, U32 - 1): token for id, token in vocab.items()}


class Tokenizer:
    """Encodes with a vocab and merges as `train_bpe` gives them, or the files of GPT-2's form."""

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[tuple[bytes, bytes]],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        """Special tokens that the vocab does not have get the next free ids.

        Raises `InvalidTokens` where the vocab lacks a byte or a merged token, `InvalidMerges` where a part is unknown.
        """
        self.vocab = _vocab(vocab)
        self.merges = list(merges)
        self._id_of = {token: id for id, token in sorted(self.vocab.items(), reverse=True)}
        self._specials: dict[str, int] = {}
        for text in _specials(special_tokens):
            if text.encode() not in self._id_of:
                self._id_of[text.encode()] = id = max(self.vocab, default=-1) + 1
                self.vocab[id] = text.encode()
            self._specials[text] = self._id_of[text.encode()]
        self._rules = Rules(allowed=frozenset(self._specials), refused=frozenset())
        self._encoder  # noqa: B018 (built now, so that what is wrong is said now)

    @cached_property
    def _encoder(self) -> Encoder:
        import numpy as np

        from slmtok._engine import Encoder, Pattern

        internal = {bytes([byte]): byte for byte in range(256)}
        pairs = []
        for k, (left, right) in enumerate(self.merges):
            if left not in internal or right not in internal:
                raise InvalidMerges(
                    f"merge {k} ({left!r}, {right!r}) has a part that no earlier merge makes",
                    fix="use the merges that train_bpe gave, in their order",
                    index=k,
                )
            pairs.append((internal[left], internal[right]))
            internal[left + right] = 256 + k
        lacking = next((token for token in internal if token not in self._id_of), None)
        if lacking is not None:
            raise InvalidTokens(
                f"the vocab has no id for {lacking!r}",
                limit="all bytes and all merged tokens",
                fix="use the vocab that train_bpe gave",
            )
        external = np.array([self._id_of[token] for token in internal], dtype=np.uint32)
        return Encoder.from_merges(Pattern("gpt2"), np.array(pairs, dtype=np.uint32).reshape(-1, 2), external)

    @classmethod
    def from_files(
        cls,
        vocab_filepath: str | os.PathLike[str],
        merges_filepath: str | os.PathLike[str],
        special_tokens: Sequence[str] | None = None,
    ) -> Tokenizer:
        """From GPT-2's two files: JSON of token to id, and a merge a line, bytes written as printable characters.

        Raises `MissingInput`, `CorruptFile`.
        """

        read = _reader()
        try:
            table = json.loads(_read(vocab_filepath))
            vocab = {int(id): read(token) for token, id in table.items()}
        except (ValueError, KeyError, AttributeError) as error:
            raise _damaged(vocab_filepath, error) from None
        try:
            lines = _read(merges_filepath).decode().splitlines()
            rows = [line.split(" ") for line in lines if line and not line.startswith("#version")]
            merges = [(read(left), read(right)) for left, right in rows]
        except (ValueError, KeyError) as error:
            raise _damaged(merges_filepath, error) from None
        return cls(vocab, merges, special_tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; special tokens in it become their ids, of overlapping ones the longest."""
        ids: list[int] = []
        for index, part in enumerate(self._rules.cut(one_str(text))):
            ids.extend([self._specials[part]] if index % 2 else self._encoder.encode_list(part))
        return ids

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        """The ids of each text after the other, one text in memory at a time. Nothing merges across two texts."""
        for text in many(iterable, "encode_iterable"):
            yield from self.encode(one_str(text))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, bytes that are no UTF-8 replaced. Raises `UnknownId`."""
        from slmtok.id_arrays import check_ids, check_row

        numbers = check_ids(check_row(ids), len(self.vocab))
        try:
            return b"".join([self.vocab[id] for id in numbers]).decode("utf-8", "replace")
        except KeyError as error:
            raise unknown_id(error.args[0], len(self.vocab)) from None


def _reader() -> Callable[[str], bytes]:
    """Bytes of a token as GPT-2 writes it: a printable character for each byte."""
    byte_of = unicode_to_bytes()
    return lambda token: bytes(byte_of[char] for char in token)


def _damaged(path: str | os.PathLike[str], error: Exception) -> CorruptFile:
    return CorruptFile(
        f"{str(path)!r} is not a file of GPT-2's form: {error}",
        where=str(path),
        fix="name a vocab.json and a merges.txt of that form",
        path=str(path),
    )
