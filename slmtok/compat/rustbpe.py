"""rustbpe's `Tokenizer` on our engine: same arguments and defaults, same merges, same ids.

As there, `vocab_size` leaves out special tokens, ids start at 0 with the bytes, every pair counts from its first
occurrence, tokens may be of any length, ties go by rank, and the default pattern is GPT-4's. On purpose it differs:
text that the pattern does not match is kept (there it is dropped), counts have 64 bits, a tokenizer that was not
trained has the 256 bytes (there it encodes all to nothing), and no misuse is a panic or an endless loop.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from slmtok.checks import check_int
from slmtok.compat._learn import encoder_of, many, merges_of, one_str, room
from slmtok.errors import UnknownId

if TYPE_CHECKING:
    from slmtok._engine import Encoder

__all__ = ["Tokenizer"]


class Tokenizer:
    """Trains from an iterator of texts, then encodes and decodes."""

    def __init__(self) -> None:
        self._pattern = ""
        self._n_vocab = 256
        self._encoder: Encoder | None = None

    def train_from_iterator(
        self, iterator: Iterable[str], vocab_size: int, buffer_size: int = 8192, pattern: str | None = None
    ) -> None:
        """Learns `vocab_size` - 256 merges, fewer where the text has no more pairs.

        buffer_size: texts that are taken from the iterator at a time. pattern: a name of ours or a regex; GPT-4's if
        None. Raises `VocabularyTooSmall`, `InvalidPattern`, `InvalidOption`, `WrongType`.
        """
        from slmtok.patterns import parse_pattern

        n_merges = room(vocab_size)
        buffer = check_int("buffer_size", buffer_size, 1, sys.maxsize)
        texts = map(one_str, many(iterator, "train_from_iterator"))
        compiled = parse_pattern("cl100k-hf" if pattern is None else pattern)
        merges = merges_of(texts, n_merges, compiled, buffer=buffer)
        self._encoder = encoder_of(compiled, merges)
        self._pattern = compiled.regex
        self._n_vocab = 256 + len(merges)

    @property
    def vocab_size(self) -> int:
        """256 bytes and the merges."""
        return self._n_vocab

    def get_pattern(self) -> str:
        """The regex of the split pattern, empty before training."""
        return self._pattern

    def get_mergeable_ranks(self) -> list[tuple[bytes, int]]:
        """(token, rank) in the order of ranks: `dict(...)` of it is what tiktoken's `Encoding` takes."""
        encoder = self._ready()
        return [(encoder.token_bytes(id), id) for id in range(self._n_vocab)]

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return self._ready().encode_list(one_str(text))

    def batch_encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, in order, in parallel."""
        ids, offsets = self._ready().encode_batch([one_str(text) for text in many(texts, "batch_encode")])
        flat, ends = ids.tolist(), offsets.tolist()
        return [flat[start:end] for start, end in pairwise(ends)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. Raises `UnknownToken`, and `UnicodeDecodeError` where the bytes are no UTF-8."""
        from slmtok import id_arrays

        try:
            return id_arrays.decode_ids(self._ready(), ids).decode()
        except UnknownId as error:
            raise UnknownToken(
                error.fact, where=error.where, limit=error.limit, fix="decode what encode gave"
            ) from None

    def _ready(self) -> Encoder:
        if self._encoder is None:
            from slmtok._engine import Pattern

            self._encoder = encoder_of(Pattern("cl100k-hf"), [])
        return self._encoder


class UnknownToken(UnknownId, ValueError):  # noqa: N818 (named as the others are)
    """An id that the vocabulary does not have; a `ValueError`, as in rustbpe."""
