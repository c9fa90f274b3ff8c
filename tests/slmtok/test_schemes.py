"""The four schemes: one layout, their own way to learn, byte fallback in all."""

from __future__ import annotations

import pytest

import slmtok
from slmtok import errors
from slmtok.schemes import SCHEMES, internal_merges, public_merges

TEXTS = ["Hello? You're here, hello! the the the 今天今天 x_1 x_1\n\n" * 3]


def train(name: str, vocab: int | None = None, **options: object) -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(TEXTS), vocab_size=vocab, scheme=name, allow_smaller=True, **options)  # type: ignore[arg-type]


def test_four_schemes_share_the_layout() -> None:
    assert sorted(SCHEMES) == ["bpe", "byte", "char", "word"]
    for name in SCHEMES:
        tok = train(name)
        assert [tok.token_bytes(16 + byte) for byte in range(256)] == [bytes([byte]) for byte in range(256)]
        assert tok.specials["eos"] == 2


def test_words_keep_white_space() -> None:
    tok = train("word")
    assert [token for _, token in tok.pieces("the Hello? x_1")] == [b"the", b" ", b"Hello", b"?", b" ", b"x_1"]
    assert [token for _, token in tok.pieces("zq")] == [b"z", b"q"]


def test_characters() -> None:
    tok = train("char")
    assert [token for _, token in tok.pieces("今x天")] == ["今".encode(), b"x", "天".encode()]


def test_bytes_alone() -> None:
    tok = train("byte")
    assert tok.n_vocab == 272
    assert tok.encode_list("aÿ") == [16 + 97, 16 + 0xC3, 16 + 0xBF]
    assert train("byte", 272) == tok
    with pytest.raises(errors.OptionError, match="always 272"):
        train("byte", 273)


def test_most_frequent_first_and_prefix() -> None:
    big, small = train("word", 280), train("word", 275)
    assert slmtok.slice(big, 275).fingerprint == small.fingerprint
    assert big.token_bytes(272) == b"the"


def test_refusals() -> None:
    with pytest.raises(errors.OptionError, match="did you mean 'word'"):
        train("words")
    with pytest.raises(errors.OptionError, match="pattern"):
        train("char", pattern="gpt2")
    with pytest.raises(errors.OptionError, match="tie_break"):
        train("word", tie_break="hf")
    with pytest.raises(errors.RequiredTooMany):
        train("word", 273, require=["ab", "cd"])
    with pytest.raises(errors.OptionError, match="cannot train scheme char"):
        from slmtok.training import train_with_report

        train_with_report(slmtok.count(slmtok.Texts(TEXTS)), scheme="char")


def test_internal_and_public_ids_are_inverse() -> None:
    internal = [(116, 104), (97, 116), (257, 101), (256, 101)]
    merges = public_merges(internal, {1: 4})
    assert merges == ((132, 120), (113, 132, 4), (4, 117), (272, 117))
    pairs, public, non_emitting = internal_merges(merges)
    assert pairs == internal
    assert public == [*range(16, 272), 272, 4, 273, 274]
    assert non_emitting == [257]
    assert public_merges([(116, 104), (256, 101)], {}) == ((132, 120), (272, 117))


def test_hf_reuses_the_id_of_a_special() -> None:
    tok = slmtok.train(
        slmtok.Texts(["abab abab abab xyz xyz"] * 5),
        vocab_size=276,
        tie_break="hf",
        special={"mine": "ab"},
        pattern="gpt2",
        min_count=1,
    )
    assert any(len(merge) == 3 and merge[2] == 6 for merge in tok.vocabulary.merges)
    assert tok.n_vocab == 276
    assert 6 not in tok.encode_list("abab ab xyz")
    assert slmtok.Tokenizer.from_bytes(tok.to_bytes()) == tok
