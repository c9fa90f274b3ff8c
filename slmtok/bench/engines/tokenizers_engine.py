"""Hugging Face tokenizers: reads the vocabulary as a `tokenizer.json`; trains with its `BpeTrainer`.

`encode_batch` uses all cores unless TOKENIZERS_PARALLELISM says otherwise, which must be set before the first call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.bench.base import Engine, flat, module, regex_of, text_of
from slmtok.formats.oniguruma import oniguruma
from slmtok.gpt2_alphabet import byte_of_character

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.bench.source import Source


class Peer(Engine):
    """tokenizers."""

    form = "object"
    ties = "hf"

    def load(self, source: Source) -> None:
        self.tokenizer = module("tokenizers").Tokenizer.from_file(source.json)

    def encode(self, documents: Sequence[str], threads: int) -> Any:
        _parallel(threads)
        # The fast call: without offsets.
        return self.tokenizer.encode_batch_fast(list(documents), add_special_tokens=False)

    def ids(self, encoded: Any) -> NDArray[np.uint32]:
        return flat([document.ids for document in encoded])

    def list_call(self) -> Callable[[str], Any]:
        encode = self.tokenizer.encode
        return lambda text: encode(text, add_special_tokens=False).ids

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        tokenizers = module("tokenizers")
        _parallel(threads)
        steps = tokenizers.pre_tokenizers
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        split = steps.Split(tokenizers.Regex(oniguruma(regex_of(pattern))), behavior="isolated")
        tokenizer.pre_tokenizer = steps.Sequence([split, steps.ByteLevel(add_prefix_space=False, use_regex=False)])
        alphabet = steps.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=vocab - 16, initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator([text_of(corpus)], trainer)
        byte_of = byte_of_character()
        names = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
        return [bytes(byte_of[character] for character in name) for name, _ in names][256:]


def _parallel(threads: int) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"
