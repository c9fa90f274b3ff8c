"""The functions of the course CS336 on our engine: `train_bpe` and a `Tokenizer`.

As in the course: GPT-2's pattern; special tokens split the text and are not counted; of equally frequent pairs the
lexicographically greatest pair of byte strings is merged; `vocab_size` is the final total. Ids are the special tokens
in the given order, the 256 bytes, the merges in learning order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from slmtok.checks import U32, check_int
from slmtok.compat._cs336_checks import check_merges, check_specials, fix_of_files, refuse_swapped_parts
from slmtok.compat._shared import (
    check_iterable,
    check_str,
    check_vocab_size,
    explain_adapter,
    learn_merges,
    read_bytes,
    refuse_swapped,
    unknown_id,
)
from slmtok.compat.tiktoken._checks import Rules
from slmtok.errors import CorruptFile, InvalidMerges, InvalidTokens, WrongType
from slmtok.token_text import unicode_to_bytes

__all__ = ["Tokenizer", "train_bpe"]


def train_bpe(
    input_path: str | os.PathLike[str], vocab_size: int, special_tokens: Sequence[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """(vocab, merges) of a text file: id -> bytes, and pairs of token bytes in learning order. Invalid UTF-8 is kept.

    Raises `MissingInput`, `VocabularyTooSmall` below 256 and the special tokens, `InvalidSpecials`.
    """
    from slmtok._engine import Pattern

    given = {"input_path": input_path, "vocab_size": vocab_size, "special_tokens": special_tokens}
    refuse_swapped("train_bpe", given, ((str, os.PathLike), int, (list, tuple)))
    specials = check_specials(special_tokens)
    n_merges = check_vocab_size(vocab_size, 256 + len(specials))
    parts = [read_bytes(input_path)]
    if specials:
        text = parts[0].decode("utf-8", "surrogateescape")
        between = Rules(allowed=frozenset(specials), refused=frozenset()).split(text)[::2]
        parts = [part.encode("utf-8", "surrogateescape") for part in between if part]
    tokens = [bytes([byte]) for byte in range(256)]
    merges = []
    for left, right in learn_merges(parts, n_merges, Pattern("gpt2"), tie_break="bytes-greatest"):
        merges.append((tokens[left], tokens[right]))
        tokens.append(tokens[left] + tokens[right])
    return dict(enumerate([text.encode() for text in specials] + tokens)), merges


class Tokenizer:
    """Encodes with the result of `train_bpe`, or with the two files of GPT-2's format."""

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[tuple[bytes, bytes]],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        """Special tokens that the vocab lacks get the next free ids.

        Raises `InvalidTokens` if the vocab lacks a byte or a merged token, `InvalidMerges` if a part is unknown.
        """
        import numpy as np

        from slmtok._engine import Encoder, Pattern

        refuse_swapped_parts(vocab, merges, special_tokens)
        if not isinstance(vocab, Mapping):
            raise WrongType(f"vocab must be a dict, not {type(vocab).__name__}", fix="{0: b'a', ...}")
        self.vocab = {check_int("id", id, 0, U32 - 1): token for id, token in vocab.items()}
        self.merges = check_merges(merges)
        id_of = {token: id for id, token in sorted(self.vocab.items(), reverse=True)}
        self._specials: dict[str, int] = {}
        for text in check_specials(special_tokens):
            if text.encode() not in id_of:
                id_of[text.encode()] = id = max(self.vocab, default=-1) + 1
                self.vocab[id] = text.encode()
            self._specials[text] = id_of[text.encode()]
        self._rules = Rules(allowed=frozenset(self._specials), refused=frozenset())
        raw_id = {bytes([byte]): byte for byte in range(256)}
        pairs = []
        for k, (left, right) in enumerate(self.merges):
            if left not in raw_id or right not in raw_id:
                raise InvalidMerges(
                    f"merge {k} ({left!r}, {right!r}) has a part that no earlier merge makes",
                    fix="use the merges of train_bpe in their order",
                    index=k,
                )
            pairs.append((raw_id[left], raw_id[right]))
            raw_id[left + right] = 256 + k
        missing = next((token for token in raw_id if token not in id_of), None)
        if missing is not None:
            limit, fix = "all bytes and all merged tokens", "use the vocab of train_bpe"
            raise InvalidTokens(f"the vocab has no id for {missing!r}", limit=limit, fix=fix)
        ids = np.array([id_of[token] for token in raw_id], dtype=np.uint32)
        self._encoder = Encoder.from_merges(Pattern("gpt2"), np.array(pairs, dtype=np.uint32).reshape(-1, 2), ids)

    @classmethod
    def from_files(
        cls,
        vocab_filepath: str | os.PathLike[str],
        merges_filepath: str | os.PathLike[str],
        special_tokens: Sequence[str] | None = None,
    ) -> Tokenizer:
        """Reads GPT-2's files: JSON of token -> id, and one merge a line. Raises `MissingInput`, `CorruptFile`."""
        byte_of = unicode_to_bytes()
        path, _ = files = (vocab_filepath, merges_filepath)
        try:
            table = json.loads(read_bytes(path))
            vocab = {int(id): bytes(byte_of[char] for char in token) for token, id in table.items()}
            path = merges_filepath
            lines = read_bytes(path).decode().splitlines()
            rows = [line.split(" ") for line in lines if line and not line.startswith("#version")]
            merges = [[bytes(byte_of[char] for char in part) for part in row] for row in rows]
            pairs = [(left, right) for left, right in merges]
        except (ValueError, KeyError, AttributeError) as error:
            fact, fix = f"{str(path)!r} is not a file of GPT-2's form: {error}", fix_of_files(*files)
            raise CorruptFile(fact, where=str(path), fix=fix, path=str(path)) from None
        return cls(vocab, pairs, special_tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; special tokens in it become their ids, of overlapping ones the longest."""
        return self._rules.encode(check_str(text), self._specials, self._encoder.encode_list)

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        """The ids of all texts, with one text in memory at a time. No merge crosses two texts."""
        for text in check_iterable(iterable, "encode_iterable"):
            yield from self.encode(check_str(text))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, invalid UTF-8 replaced. Raises `UnknownId`."""
        from slmtok.id_arrays import check_ids, check_row

        numbers = check_ids(check_row(ids), len(self.vocab))
        try:
            return b"".join([self.vocab[id] for id in numbers]).decode("utf-8", "replace")
        except KeyError as error:
            raise unknown_id(error.args[0], len(self.vocab)) from None


explain_adapter(globals())
