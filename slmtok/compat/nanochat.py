"""nanochat's `RustBPETokenizer` on our engine: the calls of its scripts, on a tokenizer of ours.

As there, training takes an iterator of texts and a `vocab_size` that includes the nine specials, `encode` reads text
that spells a special as text, digits are grouped by two, every pair counts from its first occurrence and tokens may be
of any length. On purpose it differs: ids are those of our layout, sixteen specials first, in which `<|bos|>` is the
role `bos` and the other eight take the reserved ids 6 to 13; the folder holds the tokenizer file, no pickle; the bytes
of each id come as an array, not as a tensor, and are those of the token, never of its decoded text. Conversations are
not rendered: they are typed segments (`Tokenizer.encode_segments`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.compat._learn import many, one_str
from slmtok.errors import InvalidOption, WrongType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.tokenizer import Tokenizer

__all__ = ["SPECIAL_TOKENS", "RustBPETokenizer", "get_token_bytes", "get_tokenizer"]

SPECIAL_TOKENS = [
    "<|bos|>",
    "<|user_start|>",
    "<|user_end|>",
    "<|assistant_start|>",
    "<|assistant_end|>",
    "<|python_start|>",
    "<|python_end|>",
    "<|output_start|>",
    "<|output_end|>",
]
"""What nanochat calls its specials. Without the bars they are our roles."""
_FILE = "tok.json"


class RustBPETokenizer:
    """A tokenizer under nanochat's names. `tokenizer` is ours beneath it."""

    def __init__(self, tokenizer: Tokenizer, bos_token: str = "<|bos|>") -> None:
        """bos_token: the spelling of what `get_bos_token_id` gives. Raises `UnknownSpecial`."""
        self.tokenizer = tokenizer
        self.bos_token_id = tokenizer.specials.find(bos_token).id

    @classmethod
    def train_from_iterator(cls, text_iterator: Iterable[str], vocab_size: int) -> RustBPETokenizer:
        """Learns from texts; `vocab_size` is the total. Fewer merges where the text has no more pairs.

        Raises `VocabularyTooSmall`, `WrongType`.
        """
        from slmtok.training.api import train

        texts = map(one_str, many(text_iterator, "train_from_iterator"))
        special = {text.strip("<|>"): text for text in SPECIAL_TOKENS}
        trained = train(texts, vocab_size, min_count=1, max_token_bytes=0, special=special, allow_smaller=True)
        return cls(trained)

    @classmethod
    def from_directory(cls, tokenizer_dir: str | os.PathLike[str]) -> RustBPETokenizer:
        """What `save` wrote, or any `tok.json` in which a special is spelled `<|bos|>`. Raises `MissingInput`."""
        from slmtok.tokenizer import load

        return cls(load(Path(tokenizer_dir) / _FILE))

    @classmethod
    def from_pretrained(cls, tiktoken_name: str) -> RustBPETokenizer:
        """An encoding of tiktoken, whose documents begin with `<|endoftext|>`. Raises what `from_tiktoken` raises."""
        import slmtok

        return cls(slmtok.from_tiktoken(tiktoken_name), "<|endoftext|>")

    def save(self, tokenizer_dir: str | os.PathLike[str]) -> None:
        """Writes `tok.json` into the folder, which is made. Raises `OutputExists`."""
        Path(tokenizer_dir).mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(Path(tokenizer_dir) / _FILE)

    def get_vocab_size(self) -> int:
        """Ids, specials included."""
        return self.tokenizer.n_vocab

    def get_special_tokens(self) -> set[str]:
        """The spellings of specials."""
        return set(self.tokenizer.specials.spellings)

    def get_bos_token_id(self) -> int:
        """The id that begins documents."""
        return self.bos_token_id

    def encode_special(self, text: str) -> int:
        """The id of a special by its spelling. Raises `UnknownSpecial`, a `KeyError`."""
        return self.tokenizer.specials.find(one_str(text)).id

    def id_to_token(self, id: int) -> str:
        """The text of one id. Raises `UnknownId`."""
        return self.decode([id])

    def encode(
        self,
        text: str | Sequence[str],
        prepend: int | str | None = None,
        append: int | str | None = None,
        num_threads: int = 8,
    ) -> Any:
        """The ids of a text, or of each of a list. prepend, append: an id or the spelling of a special. Text that
        spells a special is text. Raises `WrongType`, which is a `TypeError` (there a `ValueError`).
        """
        before, after = ([] if one is None else [self._id(one)] for one in (prepend, append))
        if isinstance(text, str):
            return before + self.tokenizer.encode_list(text) + after
        if not isinstance(text, (list, tuple)):
            raise WrongType(f"encode takes a str or a list of them, not {type(text).__name__}", fix="encode(['text'])")
        rows = self.tokenizer.encode_batch(map(one_str, text), threads=num_threads)
        return [before + row + after for row in rows.to_lists()]

    __call__ = encode

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; specials give their spelling. Raises `UnknownId`."""
        return self.tokenizer.decode(ids)

    def token_bytes(self) -> NDArray[np.int32]:
        """Bytes of each id, 0 for specials: shape (n_vocab,), int32. The side array of bits per byte."""
        return self.tokenizer.byte_lengths().astype("int32")

    def _id(self, special: int | str) -> int:
        if isinstance(special, str):
            return self.encode_special(special)
        if not 0 <= special < self.tokenizer.n_vocab:
            raise InvalidOption(
                f"id {special} is not in the vocabulary",
                limit=f"0 <= id < {self.tokenizer.n_vocab}",
                fix="prepend='<|bos|>', or an id of the tokenizer",
                option="prepend",
            )
        return special


def get_tokenizer(tokenizer_dir: str | os.PathLike[str]) -> RustBPETokenizer:
    """The tokenizer in a folder, which has to be named: there is no base folder here."""
    return RustBPETokenizer.from_directory(tokenizer_dir)


def get_token_bytes(tokenizer_dir: str | os.PathLike[str]) -> NDArray[np.int32]:
    """`token_bytes` of the tokenizer in a folder."""
    return get_tokenizer(tokenizer_dir).token_bytes()
