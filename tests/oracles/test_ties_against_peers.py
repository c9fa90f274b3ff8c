"""Merges equal to those of the trainers that each tie-break rule imitates, on random small corpora and on real ones.

One training at 32,768 ids a corpus and peer: the merges for 8,192 are the first of them.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

import cs336_incremental
import numpy as np
import pytest
from agreements import compare
from shared_data import corpus_path, peer

from slmtok import _engine, reference

pytestmark = pytest.mark.peer
N_MERGES = 32768 - 272
LETTERS = ("ab", "abc ", "the cat's mat ", "aàé的件 \n", "a1 2'!\t\n")


def engine_merges(counts, n_merges, tie_break):
    result = _engine.train(counts, n_merges, tie_break=tie_break, min_count=1)
    token = reference.token_table(result.merges.tolist())
    return [(token[left], token[right]) for left, right in result.merges.tolist()]


def engine_counts(text):
    counter = _engine.Counter(_engine.Pattern("gpt2"))
    counter.feed([text])
    return counter.finish()


@cache
def corpus_counts(name):
    counter = _engine.Counter(_engine.Pattern("gpt2"))
    counter.feed_file(str(corpus_path(name)))
    return counter.finish()


def rustbpe_tokens(text, n_merges):
    rustbpe = peer("rustbpe")
    theirs = rustbpe.Tokenizer()
    theirs.train_from_iterator([text], 256 + n_merges, pattern=reference.PATTERNS["gpt2"])
    return [bytes(token) for token, _ in theirs.get_mergeable_ranks()][256:]


def hf_merges(text, n_merges, specials=()):
    tokenizers = peer("tokenizers")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = byte_level(add_prefix_space=False, use_regex=True)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=256 + len(specials) + n_merges,
        min_frequency=1,
        initial_alphabet=byte_level.alphabet(),
        special_tokens=list(specials),
        show_progress=False,
    )
    theirs.train_from_iterator([text], trainer)
    shown = [byte for byte in range(256) if chr(byte).isprintable() and byte != 0x20]
    hidden = [byte for byte in range(256) if byte not in set(shown)]
    byte_of = {chr(byte): byte for byte in shown} | {chr(256 + k): byte for k, byte in enumerate(hidden)}
    merges = json.loads(theirs.to_str())["model"]["merges"]
    return [(bytes(map(byte_of.get, left)), bytes(map(byte_of.get, right))) for left, right in merges]


def first_difference(got, want):
    """Where two lists part: comparing 32,000 merges in an assertion would print them all."""
    pairs = enumerate(zip(got, want, strict=False))
    return next(((k, *both) for k, both in pairs if both[0] != both[1]), None) or (len(got), len(want))


def assert_equal(got, want):
    if got != want:
        pytest.fail(f"the lists part at {first_difference(got, want)}")


def random_text(seed):
    rng = random.Random(seed)
    letters = rng.choice(LETTERS)
    return "".join(rng.choice(letters) for _ in range(rng.randint(1, 400)))


@pytest.mark.parametrize("seed", range(60))
def test_random_corpora(seed):
    text = random_text(seed)
    counts = engine_counts(text)
    rank = engine_merges(counts, 40, "rank")
    assert [left + right for left, right in rank] == rustbpe_tokens(text, 40)
    assert engine_merges(counts, 40, "hf") == hf_merges(text, 40)
    assert engine_merges(counts, 40, "bytes-greatest") == cs336_incremental.train(cs336_incremental.count(text), 40)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", ["books", "docs_en", "multi"])
def test_rank_equals_rustbpe(name):
    text, got = corpus_path(name).read_bytes(), engine_merges(corpus_counts(name), N_MERGES, "rank")
    assert len(got) == N_MERGES

    def check():
        assert_equal([left + right for left, right in got], rustbpe_tokens(text.decode(), N_MERGES))

    compare(f"merges of rank on {name}", "rustbpe", [text, repr(got).encode()], check)
    assert engine_merges(corpus_counts(name), 8192 - 272, "rank") == got[: 8192 - 272]


@pytest.mark.shared
@pytest.mark.slow
def test_hf_equals_tokenizers(monkeypatch):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    # A quarter of the books has as many merges with ties, and the peer takes half a minute for all of them.
    text = corpus_path("books").read_bytes()[: 1 << 24].decode(errors="ignore")
    counts = engine_counts(text)
    got = engine_merges(counts, N_MERGES, "hf")
    assert len(got) == N_MERGES
    parts = [text.encode(), repr(got).encode()]
    compare("merges of hf on books", "tokenizers", parts, lambda: assert_equal(got, hf_merges(text, N_MERGES)))
    assert engine_merges(counts, 8192 - 272, "hf") == got[: 8192 - 272]


@pytest.mark.shared
@pytest.mark.slow
def test_bytes_greatest_equals_the_rule_of_cs336():
    text, counts = corpus_path("books").read_bytes(), corpus_counts("books")
    got = engine_merges(counts, 8192 - 272, "bytes-greatest")
    assert len(got) == 8192 - 272

    def check():
        theirs = cs336_incremental.count(text.decode())
        assert_equal(counts.items(), sorted(theirs.items()))
        assert_equal(got, cs336_incremental.train(theirs, 8192 - 272))

    parts = [Path(cs336_incremental.__file__).read_bytes(), text, repr(counts.items()).encode(), repr(got).encode()]
    compare("merges of bytes-greatest on books", "regex", parts, check)


def test_the_three_modes_differ():
    """Otherwise equality with three peers would prove little."""
    counts = engine_counts("ab ba \x01b cab")
    assert len({tuple(engine_merges(counts, 6, tie_break)) for tie_break in ("rank", "hf", "bytes-greatest")}) == 3
    assert np.array_equal(_engine.train(counts, 3).merges, _engine.train(counts, 3, tie_break="rank").merges)


@pytest.mark.parametrize("special", ["ab", "aba", "c"])
@pytest.mark.parametrize("seed", range(12))
def test_hf_reuses_the_id_of_a_special_that_a_merge_spells(special, seed):
    rng = random.Random(seed)
    text = " ".join("".join(rng.choice("abc") for _ in range(rng.randint(2, 9))) for _ in range(40)) + " abab"
    result = _engine.train(engine_counts(text), 40, tie_break="hf", min_count=1, specials=[b"<s>", special.encode()])
    token = reference.token_table(result.merges.tolist())
    got = [(token[left], token[right]) for left, right in result.merges.tolist()]
    # A special that spells a byte is that byte there, which leaves one id more for merges.
    assert_equal(got, hf_merges(text, 40 - (len(special) == 1), ["<s>", special]))
    spelled = [left + right for left, right in got]
    assert result.reused == ([(spelled.index(special.encode()), 1)] if special.encode() in spelled else [])
