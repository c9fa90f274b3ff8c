"""Texts with surrogates: the fix makes text, or bytes, of them, and loses nothing where that can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import slmtok
from slmtok.errors import InvalidText

OF_BYTES = "Die M\udce4dchen \u00e4\u00f6"
PAIR = "a\ud83d\ude00b"
PAIR_WITH_HALF_OF_A_BYTE = "a\ud83d\udc80b"
HALF = "a\ud800b"


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(slmtok.Texts(["the cat sat on the mat " * 50]), vocab_size=280)


def calls(tok: slmtok.Tokenizer) -> tuple[Callable[[str], object], ...]:
    return (
        tok.encode,
        lambda text: tok.count_tokens([text]),
        tok.encode_with_offsets,
        lambda text: tok.encode_batch(["b", text]),
        lambda text: slmtok.train(slmtok.Texts([text * 100]), vocab_size=280, allow_smaller=True),
    )


def pasted(fix: str, text: str) -> Any:
    """What the expression in front of the words of a fix gives."""
    return eval(fix.partition(" joins")[0].partition(", the bytes")[0], {"text": text})


@pytest.mark.parametrize(
    ("text", "meant", "fact"),
    [
        (OF_BYTES, b"Die M\xe4dchen \xc3\xa4\xc3\xb6", "a lone surrogate U+DCE4"),
        (PAIR, "a\U0001f600b", "the surrogates U+D83D U+DE00 for one character"),
        (PAIR_WITH_HALF_OF_A_BYTE, "a\U0001f480b", "the surrogates U+D83D U+DC80 for one character"),
        (HALF, "a\ufffdb", "a lone surrogate U+D800"),
        (HALF + PAIR, "a\ufffdba\U0001f600b", "a lone surrogate U+D800"),
    ],
)
def test_the_fix_is_that_of_the_kind_of_surrogate(tok: slmtok.Tokenizer, text: str, meant: object, fact: str) -> None:
    for call in calls(tok):
        with pytest.raises(InvalidText) as caught:
            call(text)
        fix = str(caught.value.fix)
        given = text * 100 if fact not in caught.value.fact else text
        assert fact in caught.value.fact and "text stands for your own value" in fix
        assert pasted(fix, given) == meant


def test_the_fix_for_kept_bytes_encodes_those_of_the_file(tok: slmtok.Tokenizer) -> None:
    data = b"Die M\xe4dchen"
    text = data.decode("utf-8", "surrogateescape")
    with pytest.raises(InvalidText) as caught:
        tok.encode(text)
    assert tok.decode_bytes(tok.encode(pasted(str(caught.value.fix), text))) == data


def test_the_place_of_a_surrogate(tok: slmtok.Tokenizer) -> None:
    with pytest.raises(InvalidText) as caught:
        tok.encode_batch(["b", "x" * 70_000 + HALF])
    assert caught.value.fields == {"index": 70_001, "document": 1}
    assert caught.value.where == "character 70001 of document 1"
