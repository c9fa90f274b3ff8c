"""nanochat's `RustBPETokenizer` on our engine.

As in nanochat: training takes an iterator of texts and a `vocab_size` that includes the nine special tokens; `encode`
treats text that spells a special token as text; digits are grouped by two; minimum count 1, no limit of token length.
Intended differences: ids have our layout, in which `<|bos|>` has the role `bos` and the other eight the reserved ids 6
to 13; the folder holds the tokenizer file instead of a pickle; `token_bytes` is an array with the bytes of the tokens,
not of their decoded text. Conversations are typed segments (`Tokenizer.encode_segments`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from slmtok.checks import integer_id
from slmtok.compat._shared import check_str, checked_texts, explain_adapter, make_folder, read_folder, training_texts
from slmtok.errors import OptionError, value_text
from slmtok.tokenizer import Tokenizer, check_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
"""nanochat's special tokens. Without the bars they are our roles."""
_FILE = "tok.json"


class RustBPETokenizer:
    """A tokenizer under nanochat's names; `tokenizer` is the wrapped one."""

    def __init__(self, tokenizer: Tokenizer, bos_token: str = "<|bos|>") -> None:
        """bos_token: the spelling of the id of `get_bos_token_id`. Raises `UnknownSpecial`."""
        self.tokenizer = check_tokenizer(tokenizer)
        self.bos_token_id = tokenizer.specials.find(bos_token).id

    @classmethod
    def train_from_iterator(cls, text_iterator: Iterable[str], vocab_size: int) -> RustBPETokenizer:
        """Trains on texts; `vocab_size` is the total. Raises `VocabularyTooSmall`, `WrongType`."""
        from slmtok.training.api import train

        texts = map(check_str, training_texts(text_iterator, vocab_size))
        special = {text.strip("<|>"): text for text in SPECIAL_TOKENS}
        trained = train(
            texts, vocab_size=vocab_size, min_count=1, max_token_bytes=0, special=special, allow_smaller=True
        )
        return cls(trained)

    @classmethod
    def from_directory(cls, tokenizer_dir: str | os.PathLike[str]) -> RustBPETokenizer:
        """Loads `tok.json` of a folder, with a special token spelled `<|bos|>`.

        Raises `MissingInput`, `UnknownSpecial`.
        """
        return cls(read_folder(tokenizer_dir, _FILE, SPECIAL_TOKENS[0]))

    @classmethod
    def from_pretrained(cls, tiktoken_name: str) -> RustBPETokenizer:
        """A public encoding of tiktoken, with `<|endoftext|>` as bos. Raises as `from_tiktoken`."""
        import slmtok

        return cls(slmtok.from_tiktoken(tiktoken_name), "<|endoftext|>")

    def save(self, tokenizer_dir: str | os.PathLike[str]) -> None:
        """Writes `tok.json` into the folder, which is created. Raises `OutputExists`."""
        self.tokenizer.save(make_folder(tokenizer_dir) / _FILE)

    def get_vocab_size(self) -> int:
        """The number of ids, special tokens included."""
        return self.tokenizer.n_vocab

    def get_special_tokens(self) -> set[str]:
        """The spellings of the special tokens."""
        return set(self.tokenizer.specials.spellings)

    def get_bos_token_id(self) -> int:
        """The id at the start of documents."""
        return self.bos_token_id

    def encode_special(self, text: str) -> int:
        """The id of a special token by its spelling. Raises `UnknownSpecial`, a `KeyError`."""
        return self.tokenizer.specials.find(check_str(text)).id

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
        """The ids of a text, or of each text of a list.

        prepend, append: an id or the spelling of a special token. Raises `WrongType` (a `TypeError`).
        """
        before, after = ([] if special is None else [self._id(special)] for special in (prepend, append))
        if isinstance(text, str):
            return before + self.tokenizer.encode_list(text) + after
        rows = self.tokenizer.encode_batch(checked_texts(text, "encode"), threads=num_threads)
        return [before + row + after for row in rows.to_lists()]

    __call__ = encode

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens by their spelling. Raises `UnknownId`."""
        return self.tokenizer.decode(ids)

    def token_bytes(self) -> NDArray[np.int32]:
        """The number of bytes of each id, 0 for special tokens, int32 [n_vocab]; for bits per byte."""
        return self.tokenizer.byte_lengths().astype("int32")

    def _id(self, special: int | str) -> int:
        if isinstance(special, str):
            return self.encode_special(special)
        n, fix = self.tokenizer.n_vocab, "prepend='<|bos|>', or an id of the tokenizer"
        if not 0 <= integer_id(special) < n:
            fact = f"id {value_text(special)} is not in the vocabulary"
            raise OptionError(fact, limit=f"0 <= id < {n}", fix=fix, option="prepend")
        return special


def get_tokenizer(tokenizer_dir: str | os.PathLike[str]) -> RustBPETokenizer:
    """The tokenizer in a folder; there is no default folder."""
    return RustBPETokenizer.from_directory(tokenizer_dir)


def get_token_bytes(tokenizer_dir: str | os.PathLike[str]) -> NDArray[np.int32]:
    """The `token_bytes` of the tokenizer in a folder."""
    return get_tokenizer(tokenizer_dir).token_bytes()


explain_adapter(globals())
