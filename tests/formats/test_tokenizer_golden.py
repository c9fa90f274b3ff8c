"""The committed golden files: they load, and equal content gives equal bytes on every platform."""

from pathlib import Path

import pytest
from plain_reader import plain_tokenizer_class
from samples import TEXT, samples

import slmtok

GOLDEN = Path(__file__).with_name("golden")
TEXTS: list[str | bytes] = [
    TEXT,
    "",
    "  the  thé ate\t\tan\r\n",
    b"\xff\xfethe \xe4\xbb",
    "今天the cat <s></s> 4567 <|endoftext|>",
    b"\x00" * 5,
]


@pytest.mark.parametrize("name", sorted(samples()))
def test_golden_file_loads_and_is_what_is_written_today(name: str) -> None:
    path = GOLDEN / f"{name}-1.json"
    tok = slmtok.load(path)
    assert tok.to_bytes() == path.read_bytes()
    assert samples()[name].to_bytes().split(b'"provenance"')[0] == path.read_bytes().split(b'"provenance"')[0]
    assert samples()[name].fingerprint == tok.fingerprint


@pytest.mark.parametrize("name", sorted(samples()))
def test_printed_reader_agrees_with_the_engine(name: str) -> None:
    tok = slmtok.load(GOLDEN / f"{name}-1.json")
    plain = plain_tokenizer_class()((GOLDEN / f"{name}-1.json").read_bytes())
    for text in TEXTS:
        data = text if isinstance(text, bytes) else text.encode()
        ids = tok.encode_list(data)
        assert plain.encode(data) == ids
        assert plain.decode(ids) == tok.decode_bytes(ids) == data


def test_reused_special_is_never_given_out() -> None:
    tok = slmtok.load(GOLDEN / "hf-reuse-1.json")
    assert tok.n_vocab == 272 + 3
    assert 4 not in tok.encode_list("at ate atte that")
    assert tok.token_bytes(273) == b"ate"
    assert tok.encode_list("ate") == [273]
    assert tok.encode_list("at") == [16 + ord("a"), 16 + ord("t")]
