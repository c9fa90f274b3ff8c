"""rustbpe's `Tokenizer` on our engine: same arguments and defaults, same merges, same ids.

As in rustbpe: `vocab_size` excludes special tokens, ids start at 0 with the bytes, minimum count 1, no limit of token
length, tie-break rule `rank`, GPT-4's pattern by default. Intended differences: text that the pattern does not match is
kept (there: dropped), counts have 64 bits, an untrained tokenizer has the 256 bytes (there: encodes to nothing), and
wrong arguments raise instead of panicking or looping.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from slmtok.checks import check_int
from slmtok.compat._shared import (
    UnknownToken,
    check_str,
    check_vocab_size,
    checked_texts,
    explain_adapter,
    learn_merges,
    raw_encoder,
    split_rows,
    training_texts,
)
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
        """Learns `vocab_size` - 256 merges, fewer if the text has no more pairs.

        buffer_size: texts taken from the iterator at a time. pattern: the name of one of our patterns or a regex;
        GPT-4's if None. Raises `VocabularyTooSmall`, `InvalidPattern`, `OptionError`, `WrongType`.
        """
        from slmtok.patterns import parse_pattern

        texts = map(check_str, training_texts(iterator, vocab_size))
        n_merges = check_vocab_size(vocab_size)
        buffer = check_int("buffer_size", buffer_size, 1, sys.maxsize)
        compiled = parse_pattern("cl100k-hf" if pattern is None else pattern)
        merges = learn_merges(texts, n_merges, compiled, buffer_size=buffer)
        self._encoder = raw_encoder(compiled, merges)
        self._pattern = compiled.regex
        self._n_vocab = 256 + len(merges)

    @property
    def vocab_size(self) -> int:
        """The number of ids: 256 bytes and the merges."""
        return self._n_vocab

    def get_pattern(self) -> str:
        """The regex of the split pattern, empty before training."""
        return self._pattern

    def get_mergeable_ranks(self) -> list[tuple[bytes, int]]:
        """(token, rank) in the order of ranks, for tiktoken: `Encoding(..., mergeable_ranks=dict(...))`."""
        encoder = self._trained()
        return [(encoder.token_bytes(id), id) for id in range(self._n_vocab)]

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return self._trained().encode_list(check_str(text))

    def batch_encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of several texts, in order, encoded in parallel."""
        return split_rows(*self._trained().encode_batch(checked_texts(texts, "batch_encode")))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. Raises `UnknownToken`, and `UnicodeDecodeError` for invalid UTF-8."""
        from slmtok import id_arrays

        try:
            return id_arrays.decode_ids(self._trained(), ids).decode()
        except UnknownId as error:
            raise UnknownToken(
                error.fact, where=error.where, limit=error.limit, fix="decode ids that encode returned"
            ) from None

    def _trained(self) -> Encoder:
        if self._encoder is None:
            from slmtok._engine import Pattern

            self._encoder = raw_encoder(Pattern("cl100k-hf"), [])
        return self._encoder


explain_adapter(globals())
