"""Hugging Face tokenizers: a byte-level BPE built from tiktoken's ranks, and its `BpeTrainer`.

Its pair merges come from the ranks by the same reduction as ours; its pre-tokenizer runs the pattern's regex.
`encode_batch` uses all cores unless TOKENIZERS_PARALLELISM says otherwise, which must be set before the first call.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.engines.base import Engine, flat, regex_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Peer(Engine):
    """tokenizers."""

    package = "tokenizers"
    form = "object"
    ties = "hf"

    def load(self, encoding: str, ranks: Path) -> None:
        from tokenizers import Tokenizer, decoders, models

        import slmtok

        native = slmtok.from_tiktoken(encoding)
        spelled = _byte_characters()
        names = {id: "".join(spelled[byte] for byte in token) for id, token in native.vocabulary.items()}
        merges = [(names[left], names[right]) for left, right in _pairs(native)]
        self.tokenizer = Tokenizer(models.BPE({name: id for id, name in names.items()}, merges))
        self.tokenizer.pre_tokenizer = _splitter(native.pattern.regex)
        self.tokenizer.decoder = decoders.ByteLevel()

    def encode(self, documents: Sequence[str], threads: int) -> list[Any]:
        _parallel(threads)
        # The fast call: without offsets.
        return self.tokenizer.encode_batch_fast(list(documents), add_special_tokens=False)

    def ids(self, encoded: list[Any]) -> NDArray[np.uint32]:
        return flat([document.ids for document in encoded])

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        _parallel(threads)
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = _splitter(regex_of(pattern))
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=vocab - 16, initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator([corpus.read_text(encoding="utf-8")], trainer)
        byte_of = {character: byte for byte, character in enumerate(_byte_characters())}
        names = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
        return [bytes(byte_of[character] for character in name) for name, _ in names][256:]


def _parallel(threads: int) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"


def _splitter(regex: str) -> Any:
    from tokenizers import Regex, pre_tokenizers

    # To its regex engine `{1,3}+` repeats a repetition, where the others have a possessive one; nothing follows, so the
    # plain one matches the same.
    split = pre_tokenizers.Split(Regex(regex.replace("}+", "}")), behavior="isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def _pairs(native: Any) -> list[tuple[int, int]]:
    """The pair of ids behind each learned id, by rank."""
    encoder = native._encoder
    return [pair for id, _ in sorted(native.vocabulary.items()) if (pair := encoder.parts(id)) is not None]


def _byte_characters() -> list[str]:
    """The character by which a byte-level vocabulary spells each byte: itself if printable, else one from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (chr(0x100 + index) for index in range(256))
    return [chr(byte) if byte in printable else next(others) for byte in range(256)]
