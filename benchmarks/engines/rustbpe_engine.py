"""rustbpe: a trainer. Its vocabulary size has no specials, so 16 are taken off ours."""

from __future__ import annotations

from pathlib import Path

from benchmarks.engines.base import Engine, regex_of


class Peer(Engine):
    """rustbpe."""

    package = "rustbpe"
    form = "list"

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        import rustbpe

        trainer = rustbpe.Tokenizer()
        text = corpus.read_text(encoding="utf-8")
        trainer.train_from_iterator(iter([text]), vocab - 16, pattern=regex_of(pattern))
        return [bytes(token) for token, _ in trainer.get_mergeable_ranks()][256:]
