"""rustbpe's class against rustbpe: merges, ids, defaults, kinds of error; and where we differ on purpose."""

from __future__ import annotations

import pytest
from shared_data import peer

from slmtok.compat import rustbpe as ours
from slmtok.errors import InvalidPattern, OptionError, UnknownId, VocabularyTooSmall, WrongType

theirs = peer("rustbpe")
pytestmark = pytest.mark.peer

TEXTS = ["The quick brown fox, 12345 times!\n\n  It's là 的件 🙂", "the the the theme thesis", "I'll we'LL", ""] * 3


@pytest.fixture(params=[(256, None), (300, None), (340, None), (300, r"\w+|[^\w]"), (5000, None)])
def pair(request):
    size, pattern = request.param
    made = ours.Tokenizer(), theirs.Tokenizer()
    for tokenizer in made:
        tokenizer.train_from_iterator(iter(TEXTS), size, pattern=pattern)
    return made


def test_same_vocabulary_and_ids(pair):
    assert pair[0].vocab_size == pair[1].vocab_size
    assert pair[0].get_mergeable_ranks() == [(bytes(token), rank) for token, rank in pair[1].get_mergeable_ranks()]
    for text in [*TEXTS, "unseen Words\t42\r\n", "ſ"]:
        assert pair[0].encode(text) == pair[1].encode(text)
        assert pair[0].decode(pair[0].encode(text)) == text
    assert pair[0].batch_encode(TEXTS) == pair[1].batch_encode(TEXTS)
    assert pair[0].batch_encode([]) == pair[1].batch_encode([]) == []


def test_pattern():
    made = ours.Tokenizer(), theirs.Tokenizer()
    assert [tokenizer.get_pattern() for tokenizer in made] == ["", ""]
    for tokenizer in made:
        tokenizer.train_from_iterator(["ab"], 256, 1, r"\w+|\W")
    assert [tokenizer.get_pattern() for tokenizer in made] == [r"\w+|\W"] * 2


def test_buffers_do_not_matter():
    a, b = ours.Tokenizer(), ours.Tokenizer()
    a.train_from_iterator(TEXTS, 300)
    b.train_from_iterator(iter(TEXTS), 300, buffer_size=1)
    assert a.get_mergeable_ranks() == b.get_mergeable_ranks()


@pytest.mark.parametrize(("ids", "kind"), [([999], ValueError), ([-1], OverflowError), (["a"], TypeError)])
def test_bad_ids(ids, kind):
    with pytest.raises(kind):
        theirs.Tokenizer().decode(ids)
    with pytest.raises((kind, UnknownId)):
        ours.Tokenizer().decode(ids)


def test_misuse():
    tokenizer = ours.Tokenizer()
    with pytest.raises(VocabularyTooSmall, match="vocab_size 100"):
        tokenizer.train_from_iterator(["a"], 100)
    with pytest.raises(InvalidPattern):
        tokenizer.train_from_iterator(["a"], 300, pattern="(")
    with pytest.raises(OptionError, match="buffer_size=0"):
        tokenizer.train_from_iterator(["a"], 300, buffer_size=0)
    with pytest.raises(WrongType, match="must be str"):
        tokenizer.train_from_iterator([1], 300)
    with pytest.raises(WrongType, match="one str"):
        tokenizer.batch_encode("abc")
    with pytest.raises(UnknownId, match="999") as caught:
        tokenizer.decode([999])
    assert isinstance(caught.value, ValueError)


def test_text_outside_the_pattern_is_kept():
    text, made = "Hello, world! 3.14", (ours.Tokenizer(), theirs.Tokenizer())
    for tokenizer in made:
        tokenizer.train_from_iterator([text] * 2, 300, pattern=r"[a-zA-Z]+|[0-9]+|\s+")
    assert made[0].decode(made[0].encode(text)) == text
    assert made[1].decode(made[1].encode(text)) == "Hello world 314"


def test_before_training_there_are_the_bytes():
    assert theirs.Tokenizer().encode("ab") == []
    assert ours.Tokenizer().encode("ab") == [97, 98]
    assert ours.Tokenizer().vocab_size == theirs.Tokenizer().vocab_size == 256
