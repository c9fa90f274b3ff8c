"""SentencePiece's class: names and arguments of the installed one, round trips, and what is refused."""

from __future__ import annotations

import inspect

import pytest
from shared_data import peer

import slmtok
from slmtok.compat import sentencepiece as ours
from slmtok.errors import MissingInput, OptionError, WrongFormat, WrongType

TEXTS = ["The quick brown fox, 12345 times!\n\n  It's là 的件 🙂", "the the the theme thesis <s>", ""] * 3


@pytest.fixture(scope="module")
def sp(tmp_path_factory):
    path = tmp_path_factory.mktemp("sp") / "tok.json"
    slmtok.train(slmtok.Texts(TEXTS), vocab_size=300, min_count=1).save(path)
    return ours.SentencePieceProcessor(path)


@pytest.mark.peer
def test_names_are_theirs():
    theirs = peer("sentencepiece").SentencePieceProcessor
    mine = {name for name in vars(ours.SentencePieceProcessor) if not name.startswith("_")} - {"tokenizer"}
    assert sorted(name for name in mine if not hasattr(theirs, name)) == []
    arguments = set(inspect.signature(theirs.encode).parameters)
    assert set(inspect.signature(ours.SentencePieceProcessor.encode).parameters) <= arguments


def test_round_trip(sp):
    for text in TEXTS:
        assert sp.decode(sp.encode(text)) == text
        assert sp.decode(sp.encode(text, out_type=str)) == text
        assert "".join(sp.encode_as_pieces("the theme")) == "the theme"
    assert sp.decode(sp.encode(TEXTS)) == TEXTS
    assert sp.encode(TEXTS, num_threads=2) == [sp.encode(text) for text in TEXTS]
    ids = sp.encode(TEXTS[0])
    assert sp.encode(TEXTS[0], add_bos=True, add_eos=True) == [1, *ids, 2]
    assert sp.encode(TEXTS[0], reverse=True) == ids[::-1]
    assert sp.decode([1, *ids, 2]) == TEXTS[0] and sp.decode(ids[0]) == sp.id_to_piece(ids[0])


def test_pieces(sp):
    assert (sp.unk_id(), sp.bos_id(), sp.eos_id(), sp.pad_id()) == (0, 1, 2, 3)
    assert sp.get_piece_size() == sp.vocab_size() == len(sp) == 300
    assert [sp.piece_to_id(sp.id_to_piece(id)) for id in (*range(6), *range(16, 300))] == [*range(6), *range(16, 300)]
    assert sp.id_to_piece([1, 6, 16 + 0xE2]) == ["<s>", "<reserved_6>", "<0xE2>"]
    assert sp.piece_to_id(["no such piece", "<0x61>"]) == [0, 16 + 0x61]
    assert [sp.is_control(id) for id in (0, 15, 16)] == [True, True, False]
    assert sp.is_byte(16) and not sp.is_byte(1) and not sp.is_byte(299) and sp.is_unknown(0)
    for bad in (-1, 300):
        with pytest.raises(IndexError):
            sp.id_to_piece(bad)
        with pytest.raises(IndexError):
            sp.decode([bad])


def test_refusals(sp, tmp_path):
    for options in ({"enable_sampling": True}, {"nbest_size": 5}, {"out_type": "proto"}, {"out_type": "str"}):
        with pytest.raises(OptionError):
            sp.encode("x", **options)
    with pytest.raises(WrongType):
        sp.encode(7)
    with pytest.raises(MissingInput, match="no tokenizer is loaded"):
        ours.SentencePieceProcessor().encode("x")
    (tmp_path / "x.model").write_bytes(b"\n\x0e\n\x05<unk>")
    with pytest.raises(WrongFormat):
        ours.SentencePieceProcessor(tmp_path / "x.model")
