"""rustbpe: a trainer. It counts in 32 bits."""

from __future__ import annotations

from pathlib import Path

from slmtok.bench.base import Engine, module, regex_of, text_of


class Peer(Engine):
    """rustbpe."""

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        trainer = module("rustbpe").Tokenizer()
        trainer.train_from_iterator(iter([text_of(corpus)]), vocab - 16, pattern=regex_of(pattern))
        return [bytes(token) for token, _ in trainer.get_mergeable_ranks()][256:]
