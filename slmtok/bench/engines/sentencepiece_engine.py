"""SentencePiece: BPE over characters with byte fallback. Another algorithm: its time is told, its merges are its own.

It reads lines, and leaves out what is longer than its limit; the limit is set so that nothing is.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from slmtok.bench.base import Engine, module


class Peer(Engine):
    """sentencepiece."""

    ties = None

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            module("sentencepiece").SentencePieceTrainer.train(
                input=str(corpus),
                model_prefix=str(Path(folder) / "model"),
                vocab_size=vocab,
                model_type="bpe",
                byte_fallback=True,
                normalization_rule_name="identity",
                num_threads=threads,
                max_sentence_length=1 << 24,
                input_sentence_size=0,
                minloglevel=2,
            )
        return []
