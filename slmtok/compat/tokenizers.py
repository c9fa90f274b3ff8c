"""`ByteLevelBPETokenizer` of Hugging Face's `tokenizers` on our engine.

As there: GPT-2's pattern, its trainer's tie-break rule, `min_frequency` 2, tokens named in GPT-2's characters, None for
unknown names. Intended differences: `vocab_size` is the final total and includes our 16 special tokens, of which the
given ones take a role or a reserved id; a corpus with too few pairs gives fewer ids; text that spells a special token
is text; files are ours (`slmtok import` reads `tokenizer.json`); padding and truncation are arguments of `as_hf(tok)`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmtok.compat import as_hf
from slmtok.compat._shared import check_iterable, check_str
from slmtok.errors import InvalidSpecials, MissingInput

if TYPE_CHECKING:
    from slmtok.id_arrays import StreamDecoder
    from slmtok.tokenizer import Tokenizer

__all__ = ["ByteLevelBPETokenizer", "DecodeStream", "Encoding"]

_ROLES = {
    "<unk>": "unk", "[UNK]": "unk", "<s>": "bos", "[CLS]": "bos", "<|startoftext|>": "bos",
    "</s>": "eos", "<|endoftext|>": "eos", "<eos>": "eos", "<bos>": "bos", "<pad>": "pad", "[PAD]": "pad",
    "[SEP]": "sep", "<mask>": "mask", "[MASK]": "mask",
}  # fmt: skip
"""Usual spellings of our roles; all others take reserved ids, in order."""


@dataclass(frozen=True)
class Encoding:
    """The result of `encode`: ids, their names, and their (start, end) in characters."""

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def attention_mask(self) -> list[int]:
        """1 for each id, as nothing is padded."""
        return [1] * len(self.ids)


class ByteLevelBPETokenizer:
    """A tokenizer under those names; `tokenizer` is the wrapped one."""

    def __init__(self, tokenizer: Tokenizer | None = None) -> None:
        self._tokenizer = tokenizer
        self._view: Any = None

    @property
    def tokenizer(self) -> Tokenizer:
        """The wrapped tokenizer. Raises `MissingInput` before one is trained or loaded."""
        if self._tokenizer is None:
            raise MissingInput(
                "no tokenizer is trained or loaded",
                where="ByteLevelBPETokenizer",
                fix="train_from_iterator(texts, vocab_size=8192), or from_file('tok.json')",
            )
        return self._tokenizer

    def train_from_iterator(
        self,
        iterator: Iterable[str] | Iterable[Sequence[str]],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: Sequence[str] = (),
        length: int | None = None,
        max_token_length: int | None = None,
    ) -> None:
        """Trains on texts, or on batches of texts.

        special_tokens: spellings; `<s>`, `</s>`, `<pad>` and the like take our roles, others reserved ids.
        max_token_length: in bytes; None is no limit. show_progress and length have no effect.
        Raises `VocabularyTooSmall`, `InvalidSpecials`, `WrongType`.
        """
        self._train(_flat(check_iterable(iterator, "train_from_iterator")), vocab_size, min_frequency, special_tokens,
                    max_token_length)  # fmt: skip

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: Sequence[str] = (),
        max_token_length: int | None = None,
    ) -> None:
        """Trains on text files, one document a line. Raises `MissingInput`, and as `train_from_iterator`."""
        self._train([files] if isinstance(files, str) else list(files), vocab_size, min_frequency, special_tokens,
                    max_token_length)  # fmt: skip

    def _train(self, corpus: Any, vocab: int, min_count: int, special: Sequence[str], max_length: int | None) -> None:
        from slmtok.training.api import train

        self._tokenizer = train(
            corpus,
            vocab_size=vocab,
            pattern="gpt2",
            tie_break="hf",
            min_count=max(min_count, 1),
            max_token_bytes=max_length or 0,
            special=_roles(special),
            allow_smaller=True,
            document="line",
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> ByteLevelBPETokenizer:
        """A tokenizer file of ours. Raises `MissingInput`, `CorruptFile`."""
        from slmtok.tokenizer import load

        return cls(load(path))

    @classmethod
    def from_str(cls, json: str) -> ByteLevelBPETokenizer:
        """Reads the result of `to_str`. Raises `CorruptFile`."""
        from slmtok.tokenizer import Tokenizer

        return cls(Tokenizer.from_bytes(json.encode("utf-8", "surrogateescape")))

    def to_str(self, pretty: bool = False) -> str:
        """The text of the tokenizer file; `pretty` has no effect."""
        return self.tokenizer.to_bytes().decode()

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        """Writes the tokenizer file, replacing an existing one. Raises `DiskFull`."""
        self.tokenizer.save(path, force=True)

    def encode(self, sequence: str, add_special_tokens: bool = True) -> Encoding:
        """Encodes one text, without special tokens around it: this tokenizer has no template."""
        found = self._hf(check_str(sequence), add_special_tokens=False, return_offsets_mapping=True)
        ids = list(found["input_ids"])
        return Encoding(ids, self._hf.convert_ids_to_tokens(ids), [(a, b) for a, b in found["offset_mapping"]])

    def encode_batch(self, inputs: Sequence[str], add_special_tokens: bool = True) -> list[Encoding]:
        """Encodes several texts."""
        return [self.encode(check_str(text)) for text in check_iterable(inputs, "encode_batch")]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids. Raises `UnknownId`."""
        return self.tokenizer.decode(ids, skip_special=skip_special_tokens)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The texts of several rows of ids. Raises `UnknownId`."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    @property
    def _hf(self) -> Any:
        if self._view is None or self._view.tokenizer is not self.tokenizer:
            self._view = as_hf(self.tokenizer)
        return self._view

    def token_to_id(self, token: str) -> int | None:
        """The id of a name; None for an unknown name."""
        found: int | None = self._hf.token_to_id(token)
        return found

    def id_to_token(self, id: int) -> str | None:
        """The name of an id; None for an unknown id."""
        found: str | None = self._hf.id_to_token(id)
        return found

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Name -> id."""
        return dict(self._hf.get_vocab())

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """The number of ids, special tokens included."""
        return self.tokenizer.n_vocab


class DecodeStream:
    """Streaming decoding: `step` returns the text that is complete, None if there is none."""

    def __init__(self, skip_special_tokens: bool = False) -> None:
        self._skip = skip_special_tokens
        self._stream: StreamDecoder | None = None

    def step(self, tokenizer: ByteLevelBPETokenizer, id: int) -> str | None:
        """The text that this id completes. Raises `UnknownId`."""
        if self._stream is None:
            self._stream = tokenizer.tokenizer.stream()
        if self._skip and id in tokenizer.tokenizer.specials.values():
            return None
        return self._stream.push(id) or None


def _flat(texts: Iterable[object]) -> Iterable[str]:
    for one in texts:
        yield from map(check_str, one) if isinstance(one, (list, tuple)) else (check_str(one),)


def _roles(spellings: Sequence[str]) -> dict[str, str]:
    """Role -> spelling. Raises `InvalidSpecials` for two spellings of one role."""
    found: dict[str, str] = {}
    for text in spellings:
        role = _ROLES.get(text) or re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or f"special_{len(found)}"
        role = role if role[0].isalpha() else f"special_{role}"
        if role in found:
            raise InvalidSpecials(
                f"{found[role]!r} and {text!r} are both the special {role!r}",
                where="special_tokens",
                limit="one spelling a role",
                fix=f"leave {text!r} out",
                role=role,
            )
        found[role] = text
    return found
