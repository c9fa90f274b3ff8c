"""Typed segments: only they, and what they allow, become control ids."""

import pytest

from slmtok import Special, Tokenizer, Trusted, errors


def test_allow_is_not_one_string() -> None:
    with pytest.raises(errors.WrongType, match="one string"):
        Trusted("x", allow="<s>")
    assert Trusted("x", allow="all").allow == "all"


def test_control_ids_are_the_special_segments(bpe: Tokenizer) -> None:
    texts = ["<s>", "</s><?><><sep>", "a<mask>b", "\x00<s", ">"]
    parts = [part for text in texts for part in (text, Special("sep"))]
    found = bpe.encode_segments(parts)
    assert int((found.ids < 16).sum()) == len(texts)
    assert bpe.decode_segments(found.ids) == parts


def test_one_string_is_not_a_list_of_segments(bpe: Tokenizer) -> None:
    with pytest.raises(errors.WrongType, match="list of segments"):
        bpe.encode_segments("text")
    with pytest.raises(errors.WrongType):
        bpe.encode_segments([3])  # type: ignore[list-item]


def test_trusted_bytes(bpe: Tokenizer) -> None:
    found = bpe.encode_segments([Trusted(b"\xff<s>", allow=["bos"])])
    assert found.ids.tolist() == [16 + 255, 1]
    assert found.spans.tolist() == [[0, 1], [1, 4]]
