"""Views of our tokenizers in tiktoken's shape, the public encodings, and rank files."""

from __future__ import annotations

import pickle

import pytest
from shared_data import peer, tiktoken_cache

import slmtok
import slmtok.compat.tiktoken as ours
from slmtok.compat import as_tiktoken
from slmtok.errors import InvalidRanks, MissingInput, SpecialInText, UnknownName, UnknownSpecial

theirs = peer("tiktoken")
pytestmark = pytest.mark.peer

RANKS = {**{bytes([byte]): byte for byte in range(256)}, b"he": 256, b"hell": 257}


def test_refusal_names_place_and_ways_out():
    view = as_tiktoken(slmtok.train(slmtok.Texts(["low lower lowest"]), vocab_size=275, min_count=1))
    with pytest.raises(SpecialInText) as caught:
        view.encode_batch(["fine", "an <s> here"])
    assert str(caught.value).splitlines() == [
        "text contains the special '<s>' at character 3 (document 2 of 2)",
        "to read it as text:     encode_ordinary(text), or disallowed_special=()",
        "to mean the special:    allowed_special={'<s>'}",
        "to re-spell specials:   as_tiktoken(tok, spell={'bos': '<|bos|>'})",
    ]


def test_views_of_a_tokenizer():
    tok = slmtok.train(slmtok.Texts(["low lower lowest"]), vocab_size=275, min_count=1)
    view = as_tiktoken(tok, spell={"bos": "<|bos|>"})
    assert view.encode("lower <s>") == tok.encode_list("lower <s>")
    assert view.encode("<|bos|>low", allowed_special="all") == [1, *tok.encode_list("low")]
    assert view.decode([1, 2, 6]) == "<|bos|></s><|reserved_6|>"
    assert set(view._special_tokens.values()) == set(range(16))
    assert view.n_vocab == tok.n_vocab
    assert pickle.loads(pickle.dumps(view)).decode([1]) == "<|bos|>"
    with pytest.raises(UnknownSpecial, match="bros"):
        as_tiktoken(tok, spell={"bros": "x"})
    peer = theirs.Encoding(
        "peer", pat_str=view._pat_str, mergeable_ranks=view._mergeable_ranks, special_tokens=view._special_tokens
    )
    assert peer.encode_ordinary("lower lowest wide") == view.encode_ordinary("lower lowest wide")


# --- the module ------------------------------------------------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.parametrize("name", ["gpt2", "r50k_base", "p50k_base", "cl100k_base", "o200k_base"])
def test_public_encodings(name, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache()))
    pair = ours.get_encoding(name), theirs.get_encoding(name)
    assert ours.get_encoding(name) is pair[0]
    for member in ("name", "n_vocab", "max_token_value", "eot_token", "special_tokens_set", "_special_tokens"):
        assert getattr(pair[0], member) == getattr(pair[1], member), member
    assert pair[0]._pat_str == pair[1]._pat_str
    assert pair[0]._mergeable_ranks == pair[1]._mergeable_ranks
    text = "Hello, world! 的件 12345 <|endoftext|>\n\n  x"
    ids = pair[1].encode(text, allowed_special="all")
    assert pair[0].encode(text, allowed_special="all") == ids
    assert pair[0].decode_with_offsets(ids) == pair[1].decode_with_offsets(ids)


def test_names():
    assert set(ours.list_encoding_names()) <= set(theirs.list_encoding_names())
    for wrong in ("cl100k", 5):
        with pytest.raises(UnknownName):
            ours.get_encoding(wrong)
        with pytest.raises(ValueError):
            theirs.get_encoding(wrong)


def test_rank_files(tmp_path, monkeypatch):
    path = tmp_path / "mine.tiktoken"
    ours.load.dump_tiktoken_bpe(RANKS, str(path))
    ours.load.dump_tiktoken_bpe(RANKS, str(path))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert ours.load.load_tiktoken_bpe(str(path)) == theirs.load.load_tiktoken_bpe(str(path)) == RANKS
    with pytest.raises(ValueError, match="not the file"):
        ours.load.load_tiktoken_bpe(str(path), expected_hash="00")
    with pytest.raises(MissingInput, match="network"):
        ours.load.load_tiktoken_bpe("https://example.org/x.tiktoken")
    path.write_bytes(b"aGU= 1\nnonsense\n")
    with pytest.raises(InvalidRanks, match="line 2"):
        ours.load.load_tiktoken_bpe(str(path))
    with pytest.raises(ValueError):
        theirs.load.load_tiktoken_bpe(str(path))
