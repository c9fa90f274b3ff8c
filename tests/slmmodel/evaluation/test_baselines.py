"""Baselines: the recursion byte by byte as oracle, and the line of tiny-shakespeare that others can check."""

from __future__ import annotations

import bz2
import math
from collections import Counter, defaultdict

import pytest
from shared_data import missing, shared_folder

from slmmodel.evaluation.baselines import MOST_TRAIN, baselines, best_ngram, first_bytes
from slmmodel.evaluation.ngram import witten_bell

TRAIN = [b"the cat sat on the mat", b"", b"a cat", b"\x00\xff\x00\xff"]
VAL = [b"the rat sat", b"", b"c", b"\xff\x00zz"]


def plain(train: list[bytes], val: list[bytes], order: int) -> float:
    counts: list[defaultdict[bytes, Counter[int]]] = [defaultdict(Counter) for _ in range(order)]
    for document in train:
        for size in range(order):
            for i in range(size, len(document)):
                counts[size][document[i - size : i]][document[i]] += 1

    def chance(history: bytes, byte: int, k: int) -> float:
        if k == 0:
            return 1 / 256
        if len(history) < k - 1:
            return chance(history, byte, k - 1)
        h = history[len(history) - (k - 1) :]
        seen = counts[k - 1].get(h)
        if not seen:
            return chance(history, byte, k - 1)
        c, n = sum(seen.values()), len(seen)
        return (seen[byte] + n * chance(history, byte, k - 1)) / (c + n)

    bits = -sum(math.log2(chance(doc[:i], doc[i], order)) for doc in val for i in range(len(doc)))
    return bits / sum(map(len, val))


def test_equal_to_the_recursion() -> None:
    found = witten_bell(TRAIN, VAL, 7)
    assert found == pytest.approx([plain(TRAIN, VAL, order) for order in range(1, 8)], rel=1e-12)


def test_edges() -> None:
    assert witten_bell([], [b"ab"], 3) == [8.0, 8.0, 8.0]
    assert all(math.isnan(bits) for bits in witten_bell(TRAIN, [b""], 2))
    for orders in (0, 9):
        with pytest.raises(ValueError, match="from 1 to 8"):
            witten_bell(TRAIN, VAL, orders)


def test_compressors_and_the_limit() -> None:
    train, val = [b"abc" * 5000], [b"abc" * 1000]
    lines = baselines(train, val)
    alone = 8 * len(bz2.compress(val[0], 9)) / 3000
    assert lines["bz2"]["alone"] == alone  # type: ignore[index]
    assert lines["bz2"]["after_train"] < alone  # type: ignore[index]
    assert (lines["train_bytes"], lines["train_bytes_all"], lines["bytes"]) == (15000, 15000, 3000)
    order, bits = best_ngram(lines)
    assert bits == min(lines["ngram"].values()) and lines["ngram"][str(order)] == bits  # type: ignore[attr-defined,index]
    assert first_bytes([b"abc", b"def", b"g"], 5) == [b"abc", b"de"]
    assert MOST_TRAIN == 16_000_000
    with pytest.raises(ValueError, match="no n-gram"):
        best_ngram({"ngram": {}})


@pytest.mark.shared
def test_the_line_of_tiny_shakespeare() -> None:
    path = shared_folder() / "data" / "corpora" / "tinyshakespeare.txt"
    if not path.is_file():
        missing(str(path))
    data = path.read_bytes()
    cut = len(data) * 90 // 100
    train, val = [data[:cut]], [data[cut:]]
    assert witten_bell(train, val, 7) == pytest.approx([4.829, 3.586, 2.956, 2.559, 2.408, 2.450, 2.567], abs=0.001)
    lines = baselines(train, val, orders=1)
    assert [lines["bz2"]["after_train"], lines["xz"]["after_train"]] == pytest.approx([2.398, 2.516], abs=0.001)  # type: ignore[index]
    assert [lines["bz2"]["alone"], lines["xz"]["alone"]] == pytest.approx([2.635, 2.943], abs=0.001)  # type: ignore[index]
