"""`ByteLevelBPETokenizer` of Hugging Face's `tokenizers` on our engine: training from an iterator, encoding, files.

As there, GPT-2's pattern cuts, ties go by its trainer's order, pairs count from `min_frequency` 2, tokens are named in
GPT-2's characters, and unknown names are None. On purpose it differs: `vocab_size` is the final total with our sixteen
specials in front, where the given ones take a role or a reserved id; a corpus that has fewer pairs gives fewer ids;
text that spells a special is text; files are ours, and a `tokenizer.json` goes through `slmtok import`; padding and
truncation are arguments of `as_hf(tok)`, not state of the object.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmtok.compat import as_hf
from slmtok.compat._learn import many, one_str
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
"""Spellings by which others mean a role that we have; all others take reserved ids, in order."""


@dataclass(frozen=True)
class Encoding:
    """What `encode` gives: for each id its name, and where it stands in the text, in characters."""

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def attention_mask(self) -> list[int]:
        """1 for each id: nothing is padded."""
        return [1] * len(self.ids)


class ByteLevelBPETokenizer:
    """A tokenizer under those names. `tokenizer` is ours beneath it."""

    def __init__(self, tokenizer: Tokenizer | None = None) -> None:
        self._tokenizer = tokenizer
        self._view: Any = None

    @property
    def tokenizer(self) -> Tokenizer:
        """Ours. Raises `MissingInput` before one is trained or loaded."""
        if self._tokenizer is None:
            raise MissingInput(
                "no tokenizer is trained or loaded",
                where="ByteLevelBPETokenizer",
                fix="train_from_iterator(texts, vocab_size=8192), or from_file('tok.json')",
            )
        return self._tokenizer

    # --- making -------------------------------------------------------------------------------------------------------

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
        """Learns from texts, or from batches of texts.

        special_tokens: spellings; `<s>`, `</s>`, `<pad>` and their like take our roles, others reserved ids.
        max_token_length: bytes of a token at most; None is no limit. show_progress and length change nothing.
        Raises `VocabularyTooSmall`, `InvalidSpecials`, `WrongType`.
        """
        self._train(_flat(many(iterator, "train_from_iterator")), vocab_size, min_frequency, special_tokens,
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
        """The same from text files, a line a document. Raises `MissingInput` besides."""
        self._train([files] if isinstance(files, str) else list(files), vocab_size, min_frequency, special_tokens,
                    max_token_length)  # fmt: skip

    def _train(self, corpus: Any, vocab: int, least: int, special: Sequence[str], longest: int | None) -> None:
        from slmtok.training.api import train

        self._tokenizer = train(
            corpus,
            vocab,
            pattern="gpt2",
            ties="hf",
            min_count=max(least, 1),
            max_token_bytes=longest or 0,
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
        """What `to_str` gave. Raises `CorruptFile`."""
        from slmtok.tokenizer import Tokenizer

        return cls(Tokenizer.from_bytes(json.encode("utf-8", "surrogateescape")))

    def to_str(self, pretty: bool = False) -> str:
        """The text of the tokenizer file, which has one form, pretty or not."""
        return self.tokenizer.to_bytes().decode()

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        """Writes the tokenizer file, in place of one that is there, as `tokenizers` does. Raises `DiskFull`."""
        self.tokenizer.save(path, force=True)

    # --- text and ids -------------------------------------------------------------------------------------------------

    def encode(self, sequence: str, add_special_tokens: bool = True) -> Encoding:
        """One text. No special is put around it: this tokenizer has no template."""
        found = self._hf(one_str(sequence), add_special_tokens=False, return_offsets_mapping=True)
        ids = list(found["input_ids"])
        return Encoding(ids, self._hf.convert_ids_to_tokens(ids), [(a, b) for a, b in found["offset_mapping"]])

    def encode_batch(self, inputs: Sequence[str], add_special_tokens: bool = True) -> list[Encoding]:
        """Many texts."""
        return [self.encode(one_str(text)) for text in many(inputs, "encode_batch")]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids. Raises `UnknownId`."""
        return self.tokenizer.decode(ids, skip_special=skip_special_tokens)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The texts of rows of ids. Raises `UnknownId`."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    @property
    def _hf(self) -> Any:
        if self._view is None or self._view.tokenizer is not self.tokenizer:
            self._view = as_hf(self.tokenizer)
        return self._view

    def token_to_id(self, token: str) -> int | None:
        """The id of a name, None for what is none."""
        found: int | None = self._hf.token_to_id(token)
        return found

    def id_to_token(self, id: int) -> str | None:
        """The name of an id, None for what is none."""
        found: str | None = self._hf.id_to_token(id)
        return found

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Name to id."""
        return dict(self._hf.get_vocab())

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Ids, specials included."""
        return self.tokenizer.n_vocab


class DecodeStream:
    """Text as ids come: `step` gives what is complete, None where nothing is yet."""

    def __init__(self, skip_special_tokens: bool = False) -> None:
        self._skip = skip_special_tokens
        self._stream: StreamDecoder | None = None

    def step(self, tokenizer: ByteLevelBPETokenizer, id: int) -> str | None:
        """The text that is complete with this id. Raises `UnknownId`."""
        if self._stream is None:
            self._stream = tokenizer.tokenizer.stream()
        if self._skip and id in tokenizer.tokenizer.specials.values():
            return None
        return self._stream.push(id) or None


def _flat(texts: Iterable[object]) -> Iterable[str]:
    for one in texts:
        yield from map(one_str, one) if isinstance(one, (list, tuple)) else (one_str(one),)


def _roles(spellings: Sequence[str]) -> dict[str, str]:
    """Role to spelling. Raises `InvalidSpecials` for two spellings of one role."""
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
