"""decode(encode(x)) == x for every byte string, in all schemes and patterns."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from story_texts import story_texts

import slmtok
from slmtok._engine import pattern_names
from slmtok.schemes import SCHEMES

PATTERNS = [*pattern_names(), "[a-zA-Z]+|[0-9]+|\\s+", "(?!)", "[^ ]+(?= )"]
CASES = [("bpe", pattern) for pattern in PATTERNS] + [(name, None) for name in SCHEMES if name != "bpe"]
NASTY = st.lists(
    st.one_of(
        st.binary(max_size=12),
        st.text(max_size=8).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.sampled_from([b"<s>", b" the", b"'ll", b"\xe4\xbb", b"\r\n", b"  ", "今天".encode(), b"12345", b"\xff"]),
    ),
    max_size=20,
).map(b"".join)


@functools.cache
def tokenizer(scheme: str, pattern: str | None) -> slmtok.Tokenizer:
    return slmtok.train(
        slmtok.Texts(story_texts()),
        vocab_size=None if scheme == "byte" else 380,
        scheme=scheme,
        pattern=pattern,
        allow_smaller=True,
    )


@pytest.mark.parametrize(("scheme", "pattern"), CASES)
@settings(max_examples=60)
@given(data=NASTY)
def test_round_trip(scheme: str, pattern: str | None, data: bytes) -> None:
    tok = tokenizer(scheme, pattern)
    ids = tok.encode(data)
    assert tok.decode_bytes(ids) == data
    assert int(tok.byte_lengths()[ids].sum()) == len(data)
    assert not (ids < 16).any()


@pytest.mark.parametrize(("scheme", "pattern"), CASES)
def test_every_byte(scheme: str, pattern: str | None) -> None:
    tok = tokenizer(scheme, pattern)
    for byte in range(256):
        assert tok.decode_bytes(tok.encode(bytes([byte]))) == bytes([byte])
    assert tok.token_id(b"\xff") == 16 + 255
