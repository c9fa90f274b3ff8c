"""Byte n-grams: equal to the definition, and to the published numbers of tiny-shakespeare."""

from __future__ import annotations

import bz2
import lzma
import math
import os
import random
import signal
import threading
import time
from collections import Counter, defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from shared_data import missing, shared_folder

from slmtok.analysis import baselines as module
from slmtok.analysis.baselines import baselines, first_bytes, witten_bell
from slmtok.envelope import baseline_limits


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


@pytest.mark.parametrize("held_out", [[*_texts(101, 200), b"never"], [b"a"], [b"ab"]])
def test_blocks_and_parts_change_nothing(held_out: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    train = _texts(1, 400)
    whole = witten_bell(train, held_out, 8)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 64)
    monkeypatch.setattr(module, "_PART_BYTES", 300)
    assert witten_bell(train, held_out, 8) == pytest.approx(whole, rel=1e-12)


def test_nothing_to_learn_from_is_eight_bits() -> None:
    assert witten_bell([], [b"abc"], 3) == [8.0, 8.0, 8.0]
    assert witten_bell([b"", b""], [b"abc", b""], 2) == [8.0, 8.0]
    assert witten_bell([b"abc"], [b""], 2) == []


def test_text_is_used_up_to_a_limit() -> None:
    assert list(first_bytes([b"abc", b"def", b"g"], 5)) == [b"abc", b"de"]
    assert list(first_bytes([b"abc"], 5)) == [b"abc"]
    found = baselines([b"once upon a time " * 20], [b"once upon a time"])
    assert found["bytes"] == 16
    assert found["xz"]["after_train"] < found["xz"]["alone"]  # type: ignore[index]  # a dict


def test_xz_compresses_as_its_preset_9() -> None:
    text = " ".join(map(str, range(30_000))).encode()
    found: dict[str, Any] = baselines([text], [text[::-1]])
    for name, compress in (("xz", lambda data: lzma.compress(data, preset=9)), ("bz2", bz2.compress)):
        alone, before, both = (len(compress(data)) for data in (text[::-1], text, text + text[::-1]))
        assert found[name] == {"alone": 8 * alone / len(text), "after_train": 8 * (both - before) / len(text)}


def test_both_texts_are_cut_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BASELINE_BYTES", 1000)
    endless = (b"once upon a time " * 10 for _ in iter(int, 1))
    found = baselines(endless, endless)
    assert (found["train_bytes"], found["bytes"]) == (1000, 1000)


def test_compressors_take_short_steps_and_a_bounded_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    dict_sizes: list[int] = []
    real = lzma.LZMACompressor

    def watched(*, filters: list[dict[str, int]]) -> Any:
        dict_sizes.append(filters[0]["dict_size"])
        inner = real(filters=filters)
        return SimpleNamespace(
            compress=lambda data: steps.append(len(data)) or inner.compress(data),  # type: ignore[func-returns-value]
            flush=inner.flush,
        )

    monkeypatch.setattr(lzma, "LZMACompressor", watched)
    monkeypatch.setattr(module, "MAX_XZ_DICT_BYTES", 100_000, raising=False)
    text = random.Random(0).randbytes(90_000)
    found = baselines([text], [text])
    assert dict_sizes == [90_000, 100_000, 90_000]
    assert max(steps) <= 1 << 16 and sum(steps) == 4 * len(text)
    assert found["xz"]["after_train"] < 1  # type: ignore[index]  # a dict


def test_a_signal_is_heard_while_xz_compresses(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[float] = []
    real = lzma.LZMACompressor

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def timed(*args: Any, **options: Any) -> Any:
        threading.Timer(0.05, interrupt).start()
        return real(*args, **options)

    monkeypatch.setattr(module, "ORDERS", 0)
    idle = SimpleNamespace(compress=lambda data: b"", flush=lambda: b"")
    monkeypatch.setattr(bz2, "BZ2Compressor", lambda *args: idle)
    monkeypatch.setattr(lzma, "LZMACompressor", timed)
    # xz takes more than 5 s for this text.
    text = " ".join(map(str, range(500_000))).encode()
    with pytest.raises(KeyboardInterrupt):
        baselines([text], [b"a"])
    assert time.monotonic() - sent[0] < 1


def test_what_is_left_out_is_said() -> None:
    small = {"train_bytes": 1000, "bytes": 500}
    assert baseline_limits(small, 500) == ""
    assert baseline_limits({**small, "train_bytes_all": 1000}, 500) == ""
    first = "limited to the first 1,000 bytes of the training text"
    assert baseline_limits({**small, "train_bytes_all": 1001}, 501) == f"{first}, the first 500 bytes of the text"
    found = baseline_limits({"train_bytes": 16_000_000, "bytes": 800_000}, 800_000)
    assert found == "limited to the first 16,000,000 bytes of the training text, a dictionary of 16 MiB for xz"


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
