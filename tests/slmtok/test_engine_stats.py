"""The piece cache of the encoder by its own counts: each distinct piece is merged once over all calls."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import slmtok

TEXT = "The cat sat on the mat; the dog sat on the log, and 1234 birds sang.\n" * 50


def test_each_distinct_piece_is_merged_once() -> None:
    # Not the trained one: it has encoded the golden vectors of its file.
    trained = slmtok.train(slmtok.Texts([TEXT]), vocab_size=300, min_count=1)
    tok = slmtok.Tokenizer.from_bytes(trained.to_bytes(), verify=False)
    data = TEXT.encode()
    pieces = [data[start:end] for start, end in pairwise(tok._encoder.pattern.split(data).tolist())]
    distinct = set(pieces)
    assert 10 < len(distinct) < len(pieces)
    assert tok._encoder.stats()["misses"] == 0
    first = tok.encode(TEXT)
    stats = tok._encoder.stats()
    assert (stats["misses"], stats["clears"]) == (len(distinct), 0)
    assert np.array_equal(tok.encode(TEXT), first)
    assert tok._encoder.stats() == stats
