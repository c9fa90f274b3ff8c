"""The reference implementation against known answers, a second naive implementation, and properties of BPE."""

from __future__ import annotations

import random
import sys

import naive_bpe
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slmtok import reference
from slmtok.errors import MissingExtra, UnknownId, UnknownName

TIE_BREAKS = ("rank", "bytes-greatest", "hf")


small_counts = st.dictionaries(
    st.text(alphabet="abc ", min_size=1, max_size=12).map(str.encode), st.integers(1, 9), min_size=1, max_size=10
)
any_bytes = st.one_of(st.binary(max_size=60), st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")))


def test_known_answer():
    merges = reference.train({b"aaabdaaabac": 1}, 3, min_count=1)
    assert merges == [(97, 97), (97, 98), (256, 257)]
    assert reference.encode(b"aaabdaaabac", merges, "whole") == [258, 100, 258, 97, 99]
    assert reference.decode([258, 100, 258, 97, 99], merges) == b"aaabdaaabac"


def test_words_of_the_textbook():
    """Sennrich et al. 2016, figure 1, without the end-of-word mark: the first merges of low, lower, newest, widest."""
    counts = {b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3}
    merges = reference.train(counts, 4, tie_break="bytes-greatest", min_count=1)
    token = reference.token_table(merges)
    assert token[256:] == [b"st", b"est", b"ow", b"low"]


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        ("gpt2", "I'll go  home\n", ["I", "'ll", " go", " ", " home", "\n"]),
        ("cl100k", "a\n  ", ["a", "\n  "]),
        ("cl100k-hf", "a\n  ", ["a", "\n", "  "]),
        ("cl100k", "12345", ["123", "45"]),
        ("slm", "12345", ["12", "34", "5"]),
        ("slm", "YOU'LL (see)", ["YOU", "'LL", " (", "see", ")"]),
        ("o200k", "camelCase don't/\n", ["camel", "Case", " don't", "/\n"]),
        ("whole", "a b\nc", ["a b\nc"]),
        ("[a-z]+", "Hello, world!", ["H", "ello", ", ", "world", "!"]),
        ("", "all of it", ["all of it"]),
    ],
)
def test_split(pattern, text, pieces):
    assert [piece.decode() for piece in reference.split(text.encode(), pattern)] == pieces


def test_bytes_that_are_not_utf8_are_one_character_each():
    assert reference.split(b"\xffab \xff\xfea", "cl100k") == [b"\xffab", b" \xff\xfe", b"a"]
    assert reference.split(b"ab\xe4\xbd", "gpt2") == [b"ab", b"\xe4\xbd"]


@given(any_bytes, st.sampled_from([*reference.PATTERNS, "[a-z]+|[0-9]+", "x"]))
def test_pieces_joined_are_the_text(text, pattern):
    pieces = reference.split(text, pattern)
    assert b"".join(pieces) == text
    assert b"" not in pieces


@settings(max_examples=150)
@given(small_counts, st.sampled_from(TIE_BREAKS), st.integers(1, 3), st.sampled_from([0, 0, 2, 3, 5]))
def test_training_equals_the_second_implementation(counts, tie_break, min_count, max_bytes):
    merges = reference.train(counts, 25, tie_break=tie_break, min_count=min_count, max_token_bytes=max_bytes)
    token = reference.token_table(merges)
    got = [(token[left], token[right]) for left, right in merges]
    assert got == naive_bpe.train(counts, 25, tie_break, min_count, max_bytes)
    for piece in counts:
        ids = reference.encode_piece(piece, merges)
        assert [token[id] for id in ids] == naive_bpe.encode(piece, got)


@settings(max_examples=60)
@given(
    st.lists(any_bytes, max_size=4), any_bytes, st.sampled_from(list(reference.PATTERNS)), st.sampled_from(TIE_BREAKS)
)
def test_round_trip_and_the_three_facts(documents, text, pattern, tie_break):
    merges = reference.train(reference.count(documents, pattern), 20, tie_break=tie_break, min_count=1)
    token = reference.token_table(merges)
    assert reference.decode(reference.encode(text, merges, pattern), merges) == text
    assert len(set(token)) == len(token)
    assert all(reference.encode_piece(spelled, merges) == [id] for id, spelled in enumerate(token))


def test_ties_differ_where_they_should():
    counts = {b"ab": 1, b"\x01b": 1, b"cd": 1}
    first = {tie_break: reference.train(counts, 1, tie_break=tie_break, min_count=1)[0] for tie_break in TIE_BREAKS}
    assert first == {"rank": (1, 98), "hf": (97, 98), "bytes-greatest": (99, 100)}


def test_a_prefix_is_the_smaller_byte_string():
    """(ab, c) and (a, ...) tie: `ab` is greater than its prefix `a`."""
    counts = {b"ab": 5, b"abc": 1, b"ad": 1}
    merges = reference.train(counts, 2, tie_break="bytes-greatest", min_count=1)
    assert merges == [(97, 98), (256, 99)]


def test_limits():
    counts = {b"abcd": 3, b"xy": 1}
    assert len(reference.train(counts, 10)) == 3
    assert len(reference.train(counts, 10, min_count=1)) == 4
    longest = max(map(len, reference.token_table(reference.train(counts, 10, max_token_bytes=2))))
    assert longest == 2


def test_order_of_documents_does_not_matter():
    documents = [b"the cat sat", b"on the mat", b"the rat"]
    random.Random(3).shuffle(shuffled := list(documents))
    a, b = reference.count(documents, "slm"), reference.count(shuffled, "slm")
    assert a == b
    assert reference.train(a, 9) == reference.train(b, 9)


def test_errors_name_value_and_limit():
    with pytest.raises(UnknownId, match="id 300 at position 1") as caught:
        reference.decode([97, 300], [])
    assert caught.value.limit == "0 <= id < 256"
    with pytest.raises(UnknownName, match="did you mean 'rank'"):
        reference.train({b"ab": 2}, 1, tie_break="ranks")


def test_without_the_regex_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "regex", None)
    with pytest.raises(MissingExtra, match="pip install regex"):
        reference.split(b"a", "slm")
