"""The profile of a corpus against plain lists, sets and training."""

from __future__ import annotations

import hashlib
import json
import random
import tracemalloc
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slmtok
from slmtok.corpus.profile import (
    QUANTILES,
    CorpusProfile,
    Duplicates,
    Lengths,
    SupportedVocab,
    supported_vocabs,
)
from slmtok.stories import stories
from slmtok.training import train_with_report
from slmtok.training.doc_digests import DocDigests


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=200), st.integers(1, 7))
def test_quantiles_equal_the_sorted_list_within_three_percent(sizes: list[int], part: int) -> None:
    lengths = Lengths()
    for start in range(0, len(sizes), part):
        lengths.add(sizes[start : start + part])
    assert (lengths.shortest, lengths.longest, lengths.total, lengths.number) == (
        min(sizes), max(sizes), sum(sizes), len(sizes),
    )  # fmt: skip
    for share in QUANTILES:
        exact = sorted(sizes)[min(int(share * len(sizes)), len(sizes) - 1)]
        found = lengths.quantile(share)
        assert exact <= found <= max(exact * 33 // 32, exact if exact < 64 else 0), share


def test_an_empty_corpus() -> None:
    summary = CorpusProfile().summary()
    assert (summary["documents"], summary["bytes"], summary["duplicates"]) == (0, 0, 0)
    assert set(summary["quantiles"].values()) == {0}


def add(profile: CorpusProfile, texts: list[bytes]) -> None:
    keys = b"".join(hashlib.sha256(text).digest()[:8] for text in texts)
    profile.add([len(text) for text in texts], np.frombuffer(keys, dtype="<u8"))


def test_duplicates_are_exact_while_they_can_be() -> None:
    rng = random.Random(3)
    texts = [str(rng.randrange(5000)).encode() for _ in range(20_000)]
    profile = CorpusProfile()
    for start in range(0, len(texts), 777):
        add(profile, texts[start : start + 777])
    summary = profile.summary()
    assert (summary["documents"], summary["bytes"]) == (20_000, sum(map(len, texts)))
    assert (summary["duplicates"], summary["duplicates_exact"]) == (20_000 - len(set(texts)), True)


def test_duplicates_beyond_the_limit_are_an_estimate_of_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = np.random.default_rng(5).integers(0, 1 << 64, 60_000, dtype=np.uint64)
    everything = np.concatenate([keys, keys[:30_000], keys[:10_000]])
    monkeypatch.setattr("slmtok.corpus.profile._PENDING_KEYS", 5000)
    found = []
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(len(everything))
        repeats = Duplicates(max_keys=4096)
        for part in np.array_split(everything[order], 7 * seed):
            repeats.add(part)
        found.append((repeats.count, repeats.bits))
        assert repeats.keys is not None
        assert len(repeats.keys) <= 4096
    assert found[0] == found[1]
    assert found[0][1] == 4
    assert abs(found[0][0] - 40_000) < 4000


def test_parts_add_up() -> None:
    rng = random.Random(9)
    texts = [str(rng.randrange(3000)).encode() * rng.randrange(1, 9) for _ in range(8000)]
    for most in (1 << 22, 700):
        whole, sum_of_parts = (
            CorpusProfile(duplicates=Duplicates(max_keys=most)),
            CorpusProfile(duplicates=Duplicates(max_keys=most)),
        )
        add(whole, texts)
        for start in range(0, len(texts), 1999):
            part = CorpusProfile(duplicates=Duplicates(max_keys=most))
            add(part, texts[start : start + 1999])
            sum_of_parts.merge(part)
        assert whole.summary() == sum_of_parts.summary()
        assert whole.duplicates.bits == sum_of_parts.duplicates.bits


def test_profiles_do_not_depend_on_the_reader(tmp_path: Path) -> None:
    """Small files are read by Python, large ones by the engine in units."""
    texts = [f"{index % 7000} and a few words " * (1 + index % 5) for index in range(9000)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    parts = [str(tmp_path / f"{number}.jsonl") for number in range(90)]
    for number, path in enumerate(parts):
        Path(path).write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[100 * number :][:100]))
    found = []
    for corpus in (str(tmp_path / "all.jsonl"), parts):
        profile, digests = CorpusProfile(), DocDigests()
        counts = slmtok.count(corpus, profile=profile, doc_digests=digests)
        digests.save(tmp_path / "found.digests", force=True)
        found.append((profile.summary(), (tmp_path / "found.digests").read_bytes(), counts.stats.corpus_digest))
    assert found[0] == found[1]
    assert (found[0][0]["documents"], found[0][0]["duplicates"]) == (9000, 9000 - len(set(texts)))


def test_supported_vocabs_bound_what_training_finds() -> None:
    texts = list(islice(stories(), 200))
    trained = train_with_report(slmtok.Texts(texts), vocab_size=600, allow_smaller=True)
    counts = trained.counts
    sizes = [273, 280, 300, 400, 600, 32768]
    bounds = supported_vocabs(counts.native.columns, counts.distinct, sizes)
    found = trained.learned.result.counts.tolist()
    assert [bound.vocab_size for bound in bounds] == sizes
    for bound in bounds:
        if 1 <= bound.vocab_size - 272 <= len(found):
            assert bound.occurrences <= found[bound.vocab_size - 272 - 1]
        elif bound.vocab_size - 272 > len(found) and len(found) < 600 - 272:
            assert bound.occurrences < 2
    pieces = sorted((count for piece, count in counts.items() if 2 <= len(piece) <= 64), reverse=True)
    assert [bound.occurrences for bound in bounds] == [
        pieces[bound.vocab_size - 273] if bound.vocab_size - 273 < len(pieces) else 0 for bound in bounds
    ]


def test_supported_vocabs_take_blocks_of_any_size() -> None:
    lengths = np.array([1, 2, 3, 65, 4], "<u4").tobytes()
    counts = np.array([900, 50, 7, 800, 1], "<u8").tobytes()
    for size in (1, 3, 7, 1000):
        stream = lengths + counts + b"pieces themselves"

        def columns(call: object, size: int = size, stream: bytes = stream) -> None:
            for start in range(0, len(stream), size):
                call(stream[start : start + size])  # type: ignore[operator]

        assert supported_vocabs(columns, 5, [273, 274, 275, 276]) == [
            SupportedVocab(273, 50), SupportedVocab(274, 7), SupportedVocab(275, 1), SupportedVocab(276, 0),
        ]  # fmt: skip
    assert [SupportedVocab(1, 100).verdict, SupportedVocab(1, 99).verdict, SupportedVocab(1, 1).verdict] == [
        "yes",
        "thin",
        "no",
    ]
    # 75 bytes in 5 pieces have 70 merges at most.
    found = supported_vocabs(lambda call: call(lengths + counts), 5, [272 + 70, 272 + 71])
    assert [one.verdict for one in found] == ["no", "never"]


def test_duplicates_take_50_bytes_a_document_at_their_peak():
    rng, duplicates = np.random.default_rng(1), Duplicates()
    tracemalloc.start()
    try:
        for _ in range(200):
            duplicates.add(rng.integers(0, 1 << 64, 1000, dtype=np.uint64))
        assert duplicates.count == 0
        assert tracemalloc.get_traced_memory()[1] < 50 * 200_000
    finally:
        tracemalloc.stop()
