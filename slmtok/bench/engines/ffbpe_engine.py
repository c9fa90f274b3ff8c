"""ffbpe: a trainer with 64-bit counts; its encoder wants its own merge files and is left out."""

from __future__ import annotations

from pathlib import Path

from slmtok.bench.base import Engine, module, regex_of, text_of


class Peer(Engine):
    """ffbpe."""

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        ffbpe = module("ffbpe")
        counter = ffbpe.PreTokenizer([], pat_str=regex_of(pattern)).word_counter()
        counter.add_source([text_of(corpus)])
        trainer = ffbpe.BpeTrainer([], unit="byte", initial_alphabet="raw", tie_break="smallest_pair_id")
        trainer.add_word_counter(counter)
        trainer.train(vocab - 16)
        tokens = trainer.validate_model().vocab
        return [token for token, _ in sorted(tokens.items(), key=lambda entry: entry[1])][256:]
