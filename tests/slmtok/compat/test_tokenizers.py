"""`ByteLevelBPETokenizer` beside the one of `tokenizers`: merges, cuts, names; and where we differ on purpose."""

from __future__ import annotations

import pytest
from shared_data import peer
from story_texts import story_texts

from slmtok.compat import tokenizers as ours
from slmtok.errors import CorruptFile, InvalidSpecials, MissingInput, VocabularyTooSmall, WrongType

TEXTS = [*story_texts()[:6], "The quick brown fox, 12345 times!\n\n  It's là 的件 🙂", ""]


@pytest.fixture(scope="module")
def tok() -> ours.ByteLevelBPETokenizer:
    made = ours.ByteLevelBPETokenizer()
    made.train_from_iterator(iter(TEXTS), vocab_size=400, special_tokens=["<s>", "<pad>", "<|endoftext|>", "<|user|>"])
    return made


@pytest.mark.peer
def test_pairs_and_words_are_theirs(tok, tmp_path):
    theirs = peer("tokenizers").ByteLevelBPETokenizer.from_file(*tok.save_model(tmp_path))
    calls = [
        lambda one: [one.encode("the fox", "é on 12")],
        lambda one: [one.encode("a", "")],
        lambda one: [one.encode(["the", "fox é"], ["", "b"], is_pretokenized=True)],
        lambda one: one.encode_batch([("the fox", "b"), "c"]),
        lambda one: one.encode_batch([["the", "fox"], ["a", "b", "c"]], is_pretokenized=True),
        lambda one: one.encode_batch([(["the"], ["fox", "b"])], is_pretokenized=True),
        lambda one: one.encode_batch([]),
    ]
    columns = "ids", "tokens", "offsets", "type_ids", "word_ids", "sequence_ids", "special_tokens_mask"
    for call in calls:
        for mine, other in zip(call(tok), call(theirs), strict=True):
            assert [getattr(mine, name) for name in columns] == [getattr(other, name) for name in columns]
    with pytest.raises(WrongType):
        tok.encode("a", 5)


@pytest.mark.peer
def test_model_files_are_theirs(tok, tmp_path):
    paths = tok.save_model(tmp_path, "mine")
    assert [path.removeprefix(str(tmp_path) + "/") for path in paths] == ["mine-vocab.json", "mine-merges.txt"]
    assert tok.save_model(tmp_path, "mine") == paths
    theirs = peer("tokenizers").ByteLevelBPETokenizer.from_file(*paths)
    for text in TEXTS:
        assert theirs.encode(text).ids == tok.encode(text).ids
    back = ours.ByteLevelBPETokenizer.from_file(*paths)
    assert back.tokenizer.fingerprint == tok.tokenizer.fingerprint
    assert back.get_vocab() == tok.get_vocab()
    trained = peer("tokenizers").ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXTS, 350, special_tokens=["<s>", "</s>"], show_progress=False)
    read = ours.ByteLevelBPETokenizer.from_file(*trained.save_model(str(tmp_path)))
    assert [read.encode(text).ids for text in TEXTS] == [trained.encode(text).ids for text in TEXTS]
    assert read.get_vocab() == trained.get_vocab()
    (tmp_path / "bad.txt").write_text("a b c\n")
    for files in ((paths[0], tmp_path / "bad.txt"), (paths[1], paths[1])):
        with pytest.raises(CorruptFile, match="GPT-2's format"):
            ours.ByteLevelBPETokenizer.from_file(*files)


@pytest.mark.peer
def test_streams_are_theirs(tok, tmp_path):
    backend = peer("tokenizers").ByteLevelBPETokenizer.from_file(*tok.save_model(tmp_path))._tokenizer
    from tokenizers.decoders import DecodeStream as Theirs

    ids = tok.encode("é the 🙂").ids
    for before in range(len(ids)):
        if tok.decode(ids[:before]).endswith("\ufffd"):
            continue
        for make in (lambda kind: kind(ids[:before]), lambda kind: kind(ids=ids[:before], skip_special_tokens=True)):  # noqa: B023
            mine, theirs = make(ours.DecodeStream), make(Theirs)
            assert [mine.step(tok, id) for id in ids[before:]] == [theirs.step(backend, id) for id in ids[before:]]
    mine, theirs = ours.DecodeStream(ids[:2]), Theirs(ids[:2])
    assert mine.step(tok, ids[2:]) == theirs.step(backend, ids[2:]) == " the 🙂"
    assert mine.step(tok, []) is theirs.step(backend, []) is None


@pytest.mark.peer
def test_added_tokens_are_spellings(tok):
    made = ours.ByteLevelBPETokenizer()
    added = peer("tokenizers").AddedToken
    made.train_from_iterator(TEXTS, 400, special_tokens=["<s>", added("<pad>", lstrip=True), added("<|user|>")])
    assert (made.token_to_id("<pad>"), made.token_to_id("<|user|>")) == (3, 6)
    assert made.tokenizer.fingerprint == tok.tokenizer.fingerprint
    with pytest.raises(WrongType, match="not int"):
        made.train_from_iterator(TEXTS, 400, special_tokens=[5])


@pytest.mark.peer
def test_tokens_are_theirs(tok):
    theirs = peer("tokenizers").ByteLevelBPETokenizer()
    theirs.train_from_iterator(TEXTS, vocab_size=400 - 16, show_progress=False)
    for text in [*TEXTS, "unseen Words\t42\r\n"]:
        assert tok.encode(text).tokens == theirs.encode(text).tokens
        assert tok.encode(text).offsets == theirs.encode(text).offsets
        assert tok.decode(tok.encode(text).ids) == text
    learned = {name: id - 16 for name, id in tok.get_vocab().items() if id >= 16 + 256}
    assert learned == {name: id for name, id in theirs.get_vocab().items() if id >= 256}


def test_batches_and_files_are_the_same_corpus(tok, tmp_path):
    made = ours.ByteLevelBPETokenizer()
    made.train_from_iterator([TEXTS[:3], tuple(TEXTS[3:])], vocab_size=400)
    assert made.tokenizer.fingerprint == tok.tokenizer.fingerprint
    lines = [line for text in TEXTS for line in text.split("\n")]
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    first, second = ours.ByteLevelBPETokenizer(), ours.ByteLevelBPETokenizer()
    first.train(str(tmp_path / "a.txt"), vocab_size=300)
    second.train_from_iterator(lines, vocab_size=300)
    assert first.tokenizer.fingerprint == second.tokenizer.fingerprint


def test_specials_and_names(tok):
    assert [tok.token_to_id(text) for text in ("<s>", "<|endoftext|>", "<pad>", "<|user|>", "nobody")] == [
        1,
        2,
        3,
        6,
        None,
    ]
    assert (tok.id_to_token(1), tok.id_to_token(400), tok.get_vocab_size()) == ("<s>", None, 400)
    assert 1 not in tok.encode("<s>").ids
    assert tok.decode([1, *tok.encode("a b").ids, 2]) == "a b"
    assert tok.decode([1], skip_special_tokens=False) == "<s>"
    assert tok.decode_batch([one.ids for one in tok.encode_batch(TEXTS)]) == TEXTS
    one = tok.encode("a b")
    assert len(one) == len(one.attention_mask) == len(one.ids)


def test_streams(tok):
    stream = ours.DecodeStream(skip_special_tokens=True)
    ids = [1, *tok.encode("🙂 là").ids]
    pieces = [stream.step(tok, id) for id in ids]
    assert "".join(piece for piece in pieces if piece) == "🙂 là" and None in pieces


def test_files(tok, tmp_path):
    tok.save(tmp_path / "tok.json")
    tok.save(tmp_path / "tok.json")
    assert ours.ByteLevelBPETokenizer.from_file(tmp_path / "tok.json").tokenizer == tok.tokenizer
    assert ours.ByteLevelBPETokenizer.from_str(tok.to_str()).tokenizer == tok.tokenizer
    with pytest.raises(CorruptFile):
        ours.ByteLevelBPETokenizer.from_str("{}")


def test_misuse():
    made = ours.ByteLevelBPETokenizer()
    with pytest.raises(MissingInput, match="no tokenizer is trained"):
        made.encode("x")
    with pytest.raises(WrongType):
        made.train_from_iterator("one text", 300)
    with pytest.raises(VocabularyTooSmall):
        made.train_from_iterator(TEXTS, 200)
    with pytest.raises(InvalidSpecials, match="both the special 'pad'"):
        made.train_from_iterator(TEXTS, 300, special_tokens=["<pad>", "[PAD]"])


@pytest.mark.parametrize("texts", [["Two cats.", "One dog."], ["a", "b", "c"], ("a", "b")])
def test_a_list_is_not_one_text(tok, texts):
    with pytest.raises(WrongType, match="is not one text") as caught:
        tok.encode(texts)
    names = {"encode_batch": tok.encode_batch, "encode": tok.encode}
    batch, words = caught.value.fix.removesuffix(" for words").split(", or ")
    assert eval(batch, names) == [tok.encode(text) for text in texts]
    assert eval(words, names).ids == [id for text in texts for id in tok.encode(text).ids]


def test_fixes_of_a_batch_name_its_call(tok):
    texts = [["a", "b", "c"]]
    with pytest.raises(WrongType) as caught:
        tok.encode_batch(texts)
    assert caught.value.fix == "is_pretokenized=True for words"
    assert len(tok.encode_batch(texts, is_pretokenized=True)) == 1
    texts = ["a", None]
    with pytest.raises(WrongType) as caught:
        tok.encode_batch(texts)
    assert len(eval(caught.value.fix, {"encode_batch": tok.encode_batch, "texts": texts})) == 2
