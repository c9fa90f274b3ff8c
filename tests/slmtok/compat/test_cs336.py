"""The names of CS336: its rule against the slow twin, its layout, its tokenizer from values and from files."""

from __future__ import annotations

import json

import pytest

from slmtok import reference
from slmtok.compat import cs336
from slmtok.errors import (
    CorruptFile,
    InvalidMerges,
    InvalidSpecials,
    InvalidTokens,
    MissingInput,
    UnknownId,
    VocabularyTooSmall,
    WrongType,
)

END = "<|endoftext|>"
TEXT = f"low low low low low\nlower lower widest widest widest{END}newest newest newest newest newest newest é的"


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_merges_are_those_of_the_rule(corpus):
    vocab, merges = cs336.train_bpe(corpus, 256 + 1 + 20, [END])
    counts = reference.count([part.encode() for part in TEXT.split(END)], "gpt2")
    want = reference.train(counts, 20, tie_break="bytes-greatest", min_count=1)
    token = reference.token_table(want)
    assert merges == [(token[left], token[right]) for left, right in want]
    assert merges[:2] == [(b"s", b"t"), (b"e", b"st")]
    assert list(vocab) == list(range(277))
    assert vocab[0] == END.encode()
    assert [vocab[1 + byte] for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert [vocab[257 + k] for k in range(20)] == [left + right for left, right in merges]


def test_special_tokens_are_not_counted(corpus):
    _, merges = cs336.train_bpe(str(corpus), 400, [END])
    assert not any(b"|" in left + right for left, right in merges)
    _, without = cs336.train_bpe(str(corpus), 400, [])
    assert any(b"|" in left + right for left, right in without)


def test_bytes_that_are_no_utf8(tmp_path):
    (tmp_path / "x").write_bytes(b"a\xff\xfea\xff\xfe" + END.encode() + b"\xff\xfe")
    _, merges = cs336.train_bpe(tmp_path / "x", 258, [END])
    assert merges == [(b"\xff", b"\xfe")]


def test_round_trip_and_specials(corpus):
    vocab, merges = cs336.train_bpe(corpus, 290, [END, END + END])
    tokenizer = cs336.Tokenizer(vocab, merges, [END, END + END])
    text = f"lower {END}{END} {END} newest 🙂"
    ids = tokenizer.encode(text)
    assert ids.count(1) == 1
    assert ids.count(0) == 1
    assert tokenizer.decode(ids) == text
    assert list(tokenizer.encode_iterable(["low ", "lower"])) == tokenizer.encode("low ") + tokenizer.encode("lower")
    assert cs336.Tokenizer(vocab, merges).encode(END) != [0]
    assert tokenizer.decode([2 + 0xFF]) == "\ufffd"


def test_new_specials_get_the_next_ids(corpus):
    vocab, merges = cs336.train_bpe(corpus, 260, [])
    tokenizer = cs336.Tokenizer(vocab, merges, ["<x>"])
    assert tokenizer.encode("<x>") == [260]
    assert 260 not in vocab


def test_files_of_gpt2s_form(tmp_path, corpus):
    vocab, merges = cs336.train_bpe(corpus, 290, [END])
    shown = [byte for byte in range(256) if chr(byte).isprintable() and byte != 0x20]
    hidden = [byte for byte in range(256) if byte not in set(shown)]
    char = {byte: chr(byte) for byte in shown} | {byte: chr(256 + k) for k, byte in enumerate(hidden)}
    table = {"".join(char[byte] for byte in token): id for id, token in vocab.items()}
    (tmp_path / "vocab.json").write_text(json.dumps(table))
    lines = [" ".join("".join(char[byte] for byte in token) for token in merge) for merge in merges]
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(lines) + "\n", encoding="utf-8")
    loaded = cs336.Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt", [END])
    assert (loaded.vocab, loaded.merges) == (vocab, merges)
    assert loaded.encode(TEXT) == cs336.Tokenizer(vocab, merges, [END]).encode(TEXT)
    with pytest.raises(CorruptFile):
        cs336.Tokenizer.from_files(tmp_path / "merges.txt", tmp_path / "vocab.json")
    with pytest.raises(MissingInput):
        cs336.Tokenizer.from_files(tmp_path / "none", tmp_path / "merges.txt")


def test_misuse(corpus):
    with pytest.raises(VocabularyTooSmall, match="vocab_size 256"):
        cs336.train_bpe(corpus, 256, [END])
    with pytest.raises(WrongType):
        cs336.train_bpe(corpus, 300, END)
    with pytest.raises(InvalidSpecials):
        cs336.train_bpe(corpus, 300, [""])
    with pytest.raises(MissingInput):
        cs336.train_bpe(corpus.parent / "none", 300, [])
    vocab, merges = cs336.train_bpe(corpus, 260, [])
    with pytest.raises(InvalidMerges, match="merge 0"):
        cs336.Tokenizer(vocab, [(b"xx", b"y")])
    with pytest.raises(InvalidTokens, match="no id"):
        cs336.Tokenizer({id: token for id, token in vocab.items() if id != 97}, merges)
    with pytest.raises(UnknownId, match="id 999"):
        cs336.Tokenizer(vocab, merges).decode([999])
