"""Byte n-grams: equal to the definition, and to the published numbers of tiny-shakespeare."""

from __future__ import annotations

import lzma
import math
import random
from collections import Counter, defaultdict
from typing import Any

import pytest
from shared_data import missing, shared_folder

from slmtok.analysis.baselines import baselines, first_bytes, witten_bell


def by_definition(train: list[bytes], held_out: list[bytes], order: int) -> float:
    """The formula, one byte at a time."""
    followed: dict[bytes, Counter[int]] = defaultdict(Counter)
    for text in train:
        for k in range(1, order + 1):
            for at in range(k - 1, len(text)):
                followed[text[at - k + 1 : at]][text[at]] += 1

    def chance(text: bytes, at: int, k: int) -> float:
        if k == 0:
            return 1 / 256
        before = chance(text, at, k - 1)
        history = text[at - k + 1 : at]
        if at < k - 1 or not followed.get(history):
            return before
        counts = followed[history]
        return (counts[text[at]] + len(counts) * before) / (sum(counts.values()) + len(counts))

    bits = sum(-math.log2(chance(text, at, order)) for text in held_out for at in range(len(text)))
    return bits / sum(map(len, held_out))


def _texts(seed: int, n: int) -> list[bytes]:
    rng = random.Random(seed)
    return [bytes(rng.choices(b"abc \xff", k=rng.randrange(12))) for _ in range(n)]


@pytest.mark.parametrize("seed", range(4))
def test_the_definition(seed: int) -> None:
    train, held_out = _texts(seed, 12), [*_texts(seed + 100, 6), b"never"]
    found = witten_bell(train, held_out, 4)
    for order, bits in enumerate(found, 1):
        assert bits == pytest.approx(by_definition(train, held_out, order), rel=1e-12)


def test_nothing_to_learn_from_is_eight_bits() -> None:
    assert witten_bell([], [b"abc"], 3) == [8.0, 8.0, 8.0]
    assert witten_bell([b"", b""], [b"abc", b""], 2) == [8.0, 8.0]
    assert witten_bell([b"abc"], [b""], 2) == []


def test_text_is_used_up_to_a_limit() -> None:
    assert first_bytes([b"abc", b"def", b"g"], 5) == [b"abc", b"de"]
    assert first_bytes([b"abc"], 5) == [b"abc"]
    found = baselines([b"once upon a time " * 20], [b"once upon a time"])
    assert found["bytes"] == 16
    assert found["xz"]["after_train"] < found["xz"]["alone"]  # type: ignore[index]  # a dict


def test_xz_compresses_as_its_preset_9() -> None:
    text = " ".join(map(str, range(30_000))).encode()
    found: dict[str, Any] = baselines([text], [text[::-1]])
    assert found["xz"]["alone"] == 8 * len(lzma.compress(text[::-1], preset=9)) / len(text)


@pytest.mark.shared
def test_the_numbers_of_tiny_shakespeare() -> None:
    path = shared_folder() / "data" / "corpora" / "tinyshakespeare.txt"
    if not path.is_file():
        missing(str(path))
    data = path.read_bytes()
    cut = len(data) * 90 // 100
    train, held_out = [data[:cut]], [data[cut:]]
    bits = [4.829, 3.586, 2.956, 2.559, 2.408, 2.450, 2.567]
    assert witten_bell(train, held_out, 7) == pytest.approx(bits, abs=0.001)
    found: dict[str, Any] = baselines(train, held_out)
    after_train = [found[name]["after_train"] for name in ("bz2", "xz")]
    assert after_train == pytest.approx([2.398, 2.516], abs=0.001)
    alone = [found[name]["alone"] for name in ("bz2", "xz")]
    assert alone == pytest.approx([2.635, 2.943], abs=0.001)
