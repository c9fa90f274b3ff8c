"""bpeasy: a trainer. Of equally frequent pairs it takes the one with the smaller ids, as rustbpe does."""

from __future__ import annotations

from pathlib import Path

from slmtok.bench.base import Engine, module, regex_of, text_of

# It has no way to say "no limit"; no token of any corpus is longer.
_LONGEST = 1 << 20


class Peer(Engine):
    """bpeasy."""

    def train(self, corpus: Path, vocab: int, pattern: str, threads: int) -> list[bytes]:
        texts = iter([text_of(corpus)])
        ranks = module("bpeasy").train_bpe(texts, regex_of(pattern), _LONGEST, vocab - 16)
        return [token for token, _ in sorted(ranks.items(), key=lambda entry: entry[1])][256:]
