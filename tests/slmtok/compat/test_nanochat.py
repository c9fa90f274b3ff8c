"""nanochat's class: its calls, its specials on reserved ids, and where we differ on purpose."""

from __future__ import annotations

import numpy as np
import pytest

import slmtok
from slmtok.compat import nanochat
from slmtok.errors import MissingInput, OptionError, UnknownSpecial, VocabularyTooSmall, WrongType

TEXTS = ["The quick brown fox, 12345 times!\n\n  It's là 的件 🙂", "the the the theme thesis <|bos|>", ""] * 3


@pytest.fixture(scope="module")
def tok() -> nanochat.RustBPETokenizer:
    return nanochat.RustBPETokenizer.train_from_iterator(iter(TEXTS), 300)


def test_ids_are_those_of_our_layout(tok):
    assert tok.get_vocab_size() == 300
    assert tok.get_bos_token_id() == tok.encode_special("<|bos|>") == 1
    assert [tok.encode_special(text) for text in nanochat.SPECIAL_TOKENS[1:]] == list(range(6, 14))
    assert set(nanochat.SPECIAL_TOKENS) <= tok.get_special_tokens()
    plain = slmtok.train(slmtok.Texts(TEXTS), vocab_size=300, min_count=1, max_token_bytes=0)
    assert tok.tokenizer.fingerprint == plain.fingerprint


def test_encode(tok):
    text = TEXTS[0]
    assert tok.decode(tok.encode(text)) == text
    assert tok.encode(text, prepend="<|bos|>", append=7) == [1, *tok.encode(text), 7]
    assert tok(TEXTS, prepend=1, num_threads=2) == [[1, *tok.encode(text)] for text in TEXTS]
    assert tok.encode("<|bos|>").count(1) == 0 and tok.decode([1]) == "<|bos|>"
    assert [tok.id_to_token(id) for id in tok.encode("the")] != [] and tok.encode([]) == []
    for wrong, kind in ((b"x", WrongType), (7, WrongType)):
        with pytest.raises(kind):
            tok.encode(wrong)
    with pytest.raises(UnknownSpecial):
        tok.encode_special("<|nobody|>")
    with pytest.raises(OptionError, match="id 300"):
        tok.encode("x", prepend=300)


def test_bytes_of_ids(tok):
    sizes = tok.token_bytes()
    assert sizes.dtype == np.int32 and not sizes[:16].any() and set(sizes[16:272]) == {1}
    assert all(sizes[tok.encode(text)].sum() == len(text.encode()) for text in TEXTS)


def test_folder(tok, tmp_path):
    tok.save(tmp_path / "t")
    assert nanochat.get_tokenizer(tmp_path / "t").tokenizer == tok.tokenizer
    assert nanochat.get_token_bytes(tmp_path / "t").tolist() == tok.token_bytes().tolist()
    with pytest.raises(MissingInput):
        nanochat.RustBPETokenizer.from_directory(tmp_path)
    with pytest.raises(VocabularyTooSmall):
        nanochat.RustBPETokenizer.train_from_iterator(TEXTS, 100)
    with pytest.raises(WrongType):
        nanochat.RustBPETokenizer.train_from_iterator("one text", 300)
