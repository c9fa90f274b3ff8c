"""The engine against the reference implementation: counts, merges and ids of generated texts."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slmtok import _engine, reference

TIE_BREAKS = ("rank", "bytes-greatest", "hf")
PATTERNS = [*reference.PATTERNS, r"[a-z]+|[0-9]+", r"\w+|\s"]


def is_settled(data: bytes) -> bool:
    """Whether all characters were there before Unicode 16: the reference takes its classes from newer tables."""
    return all(unicodedata.category(character) != "Cn" for character in data.decode(errors="surrogateescape"))


words = st.text(alphabet="ab c'1é的\n", max_size=30).map(str.encode)
rough = st.binary(max_size=30).filter(is_settled)
documents = st.lists(words | rough, max_size=6)


def engine_counts(texts, pattern, threads=1):
    counter = _engine.Counter(_engine.Pattern(pattern), threads=threads)
    counter.feed(texts)
    return counter.finish()


@pytest.mark.parametrize("pattern", reference.PATTERNS)
def test_the_named_regexes_are_the_same(pattern):
    assert _engine.Pattern(pattern).regex == reference.PATTERNS[pattern]


@settings(max_examples=300)
@given(words | rough, st.sampled_from(PATTERNS))
def test_splitting(text, pattern):
    ends = _engine.Pattern(pattern).split(text).tolist()
    assert [text[a:b] for a, b in pairwise(ends)] == reference.split(text, pattern)


@settings(max_examples=150)
@given(documents, st.sampled_from(PATTERNS), st.sampled_from([1, 2, 7]))
def test_counting(texts, pattern, threads):
    want = reference.count(texts, pattern)
    assert engine_counts(texts, pattern, threads).items() == sorted(want.items())


@settings(max_examples=200)
@given(
    documents,
    words | rough,
    st.sampled_from(PATTERNS),
    st.sampled_from(TIE_BREAKS),
    st.integers(1, 3),
    st.sampled_from([0, 0, 2, 3, 5]),
)
def test_training_and_encoding(texts, text, pattern, tie_break, min_count, max_token_bytes):
    counts = reference.count(texts, pattern)
    want = reference.train(counts, 30, tie_break=tie_break, min_count=min_count, max_token_bytes=max_token_bytes)
    result = _engine.train(
        engine_counts(texts, pattern), 30, tie_break=tie_break, min_count=min_count, max_token_bytes=max_token_bytes
    )
    assert [tuple(pair) for pair in result.merges.tolist()] == want
    external = np.arange(256 + len(want), dtype=np.uint32)
    encoder = _engine.Encoder.from_merges(_engine.Pattern(pattern), result.merges, external)
    for one in [text, *texts]:
        ids = encoder.encode_list(one)
        assert ids == reference.encode(one, want, pattern)
        assert encoder.decode_bytes(ids) == reference.decode(ids, want) == one


@settings(max_examples=100)
@given(
    st.dictionaries(st.text(alphabet="ab", min_size=1, max_size=15).map(str.encode), st.integers(1, 2**40), min_size=1)
)
def test_counts_of_the_merges(counts):
    """Each merge's count is the reference's count of its pair at that moment."""
    pattern = _engine.Pattern("whole")
    result = _engine.train(_engine.Counts.from_items(pattern, sorted(counts.items())), 20, min_count=1)
    words = [(list(piece), n) for piece, n in counts.items()]
    for k, (pair, n) in enumerate(zip(map(tuple, result.merges.tolist()), result.counts.tolist(), strict=True)):
        assert reference.pair_counts(words)[pair] == n
        words = [(reference.merge_pair(ids, pair, 256 + k), count) for ids, count in words]
