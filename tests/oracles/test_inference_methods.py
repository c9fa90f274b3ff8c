"""Longest match and BPE-dropout of the engine against the reference implementation, and what their ids depend on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slmtok
from slmtok import _engine, reference
from slmtok.errors import OptionError, WrongType

TEXTS = [bytes(letters) for n in range(1, 8) for letters in itertools.product(b"ab", repeat=n)]


def engine(merges: list[tuple[int, int]], pattern: str = "whole") -> _engine.Encoder:
    return _engine.Encoder.from_merges(_engine.Pattern(pattern), merges, np.arange(256 + len(merges), dtype=np.uint32))


def all_merge_lists(n: int) -> list[list[tuple[int, int]]]:
    """Every list of up to n merges over the letters a and b whose tokens differ."""
    lists: list[list[tuple[int, int]]] = [[]]
    for _ in range(n):
        for merges in list(lists):
            ids = [97, 98, *range(256, 256 + len(merges))]
            lists += [[*merges, pair] for pair in itertools.product(ids, ids)]
    tables = {tuple(merges): reference.token_table(merges) for merges in lists}
    return [list(merges) for merges, table in tables.items() if len(set(table)) == len(table)]


def sampled(encoder: _engine.Encoder, texts: list[bytes], rate: float, **options: int) -> list[list[int]]:
    ids, offsets = encoder.encode_with_dropout(_engine.Documents(texts), np.full(len(texts), rate), **options)
    return [row.tolist() for row in np.split(ids, offsets[1:-1])]


def test_all_short_texts_under_all_short_merge_lists() -> None:
    lists = all_merge_lists(2) + all_merge_lists(3)[::40]
    assert len(lists) >= 50
    for merges in lists:
        encoder = engine(merges)
        longest = encoder.longest_match()
        assert longest is not None
        ids, offsets = longest.encode_batch(TEXTS)
        assert [row.tolist() for row in np.split(ids, offsets[1:-1])] == [
            reference.longest_match(text, merges) for text in TEXTS
        ]
        assert sampled(encoder, TEXTS[::3], 0.5, seed=3) == [
            reference.encode_with_dropout(text, merges, "whole", 0.5, seed=3) for text in TEXTS[::3]
        ]
        assert sampled(encoder, TEXTS, 0.0) == [reference.encode_piece(text, merges) for text in TEXTS]
        assert sampled(encoder, TEXTS, 1.0) == [list(text) for text in TEXTS]


letters = st.text(alphabet="ab c'1é的\n", max_size=40).map(str.encode)


@settings(max_examples=60)
@given(
    st.lists(letters, min_size=1, max_size=5),
    st.sampled_from(["slm", "gpt2", "whole"]),
    st.sampled_from([0.05, 0.3, 0.9]),
    st.integers(0, 2**64 - 1),
    st.integers(1, 3),
)
def test_texts_and_patterns(texts: list[bytes], pattern: str, rate: float, seed: int, threads: int) -> None:
    merges = reference.train(reference.count(texts, pattern), 30, min_count=1)
    encoder = engine(merges, pattern)
    longest = encoder.longest_match()
    assert longest is not None
    for text in texts:
        pieces = reference.split(text, pattern)
        assert longest.encode_list(text) == [id for piece in pieces for id in reference.longest_match(piece, merges)]
    want = [reference.encode_with_dropout(text, merges, pattern, rate, seed, 7) for text in texts]
    assert sampled(encoder, texts, rate, seed=seed, epoch=7, threads=threads) == want
    assert [reference.decode(ids, merges) for ids in want] == texts


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(["the cat sat on the mat, and the rat sat on the cat"] * 3), vocab_size=289)


def test_ids_of_a_text_depend_on_neither_its_neighbours_nor_threads(tok: slmtok.Tokenizer) -> None:
    texts = [f"the cat {n} sat on the mat" for n in range(500)] + ["the rat " * 200_000]
    whole = tok.encode_batch(texts, dropout=0.3, seed=5, threads=2, bos=True)
    assert whole == tok.encode_batch(texts, dropout=0.3, seed=5, threads=1, bos=True)
    backwards = tok.encode_batch(texts[::-1], dropout=0.3, seed=5, bos=True)
    for index in (0, 7, 499):
        assert np.array_equal(whole[index], backwards[500 - index])
        assert np.array_equal(whole[index], tok.encode_batch([texts[index]], dropout=0.3, seed=5, bos=True)[0])
        assert tok.decode_bytes(whole[index][1:]) == texts[index].encode()


def test_seed_and_epoch_give_other_ids_and_the_rate_more_of_them(tok: slmtok.Tokenizer) -> None:
    text = "the cat sat on the mat " * 40
    rows = [
        tok.encode_batch([text], dropout=0.2, seed=seed, epoch=epoch)[0].tolist() for seed in (0, 1) for epoch in (0, 1)
    ]
    assert len({tuple(row) for row in rows}) == 4
    lengths = [len(tok.encode_batch([text], dropout=rate)[0]) for rate in (0, 0.1, 0.5, 0.9, 1)]
    assert lengths == sorted(lengths) and lengths[0] == len(tok.encode(text)) and lengths[-1] == len(text)


def test_what_dropout_refuses(tok: slmtok.Tokenizer) -> None:
    for rate in (1.5, -0.1, float("nan")):
        with pytest.raises(OptionError, match="dropout"):
            tok.encode_batch(["a"], dropout=rate)
    with pytest.raises(WrongType):
        tok.encode_batch(["a"], dropout="0.1")  # type: ignore[arg-type]
    word = slmtok.train(slmtok.Texts(["a cat a cat"]), scheme="word", vocab_size=273, min_count=1)
    with pytest.raises(OptionError, match="without merges"):
        word.encode_batch(["a"], dropout=0.1)
