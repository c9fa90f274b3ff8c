"""minbpe's classes: its documented example, its rules for specials, and a loaded pattern that is really used."""

from __future__ import annotations

from pathlib import Path

import pytest

import slmtok
from slmtok.compat import minbpe
from slmtok.compat.minbpe import BasicTokenizer, RegexTokenizer
from slmtok.errors import (
    CorruptFile,
    InvalidSpecials,
    MissingInput,
    SpecialInText,
    UnknownId,
    VocabularyTooSmall,
    WrongType,
)

TEXT = "the cat sat on the mat; the rat sat on the cat. 12345\n" * 4


def test_the_example_of_wikipedia():
    tokenizer = BasicTokenizer()
    tokenizer.train("aaabdaaabac", 256 + 3)
    assert tokenizer.encode("aaabdaaabac") == [258, 100, 258, 97, 99]
    assert tokenizer.decode([258, 100, 258, 97, 99]) == "aaabdaaabac"
    assert tokenizer.merges == {(97, 97): 256, (97, 98): 257, (256, 257): 258}
    assert tokenizer.vocab[258] == b"aaab"


def test_basic_merges_across_words_and_regex_does_not():
    basic, regex = BasicTokenizer(), RegexTokenizer()
    for tokenizer in (basic, regex):
        tokenizer.train(TEXT, 300)
        assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert any(b" " in token[1:] for token in basic.vocab.values())
    assert not any(b" " in token[1:].rstrip(b" ") for token in regex.vocab.values())


def test_specials():
    tokenizer = RegexTokenizer()
    tokenizer.train(TEXT, 270)
    tokenizer.register_special_tokens({"<|endoftext|>": 300, "<a>": 301})
    text = "the <a>cat<|endoftext|>"
    with pytest.raises(SpecialInText, match="'<a>' at character 4"):
        tokenizer.encode(text)
    plain = tokenizer.encode_ordinary(text)
    assert tokenizer.encode(text, allowed_special="none") == plain
    both = tokenizer.encode(text, allowed_special="all")
    assert both == [*tokenizer.encode("the "), 301, *tokenizer.encode("cat"), 300]
    assert tokenizer.encode(text, allowed_special={"<a>"})[-1] != 300
    assert tokenizer.decode(both) == tokenizer.decode(plain) == text
    assert tokenizer.vocab[301] == b"<a>"
    for wrong in ({"<x>": 5}, {"": 400}, {"<x>": 400, "<y>": 400}):
        with pytest.raises(InvalidSpecials):
            tokenizer.register_special_tokens(wrong)


def test_a_loaded_custom_pattern_really_is_used(tmp_path):
    tokenizer = RegexTokenizer(r"[a-z]|\s+")
    tokenizer.train(TEXT, 300)
    tokenizer.register_special_tokens({"<a>": 400})
    tokenizer.save(str(tmp_path / "mine"))
    loaded = RegexTokenizer()
    assert loaded.encode("the\n\n") != tokenizer.encode("the\n\n") or loaded.pattern != tokenizer.pattern
    loaded.load(str(tmp_path / "mine.model"))
    assert loaded.pattern == r"[a-z]|\s+"
    assert (loaded.merges, loaded.vocab, loaded.special_tokens) == (
        tokenizer.merges,
        tokenizer.vocab,
        {"<a>": 400},
    )
    assert loaded.encode(TEXT) == tokenizer.encode(TEXT)
    loaded.train(TEXT, 300)
    assert loaded.merges == tokenizer.merges
    default = RegexTokenizer()
    default.train(TEXT, 300)
    assert default.merges != loaded.merges


def test_the_list_of_tokens(tmp_path):
    tokenizer = BasicTokenizer()
    tokenizer.train("aa\naa\n", 258)
    tokenizer.register_special_tokens({"<a>": 300})
    tokenizer.save(str(tmp_path / "mine"))
    lines = (tmp_path / "mine.vocab").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 256 + 2 + 1
    assert (lines[10], lines[97], lines[0xC3]) == ("[\\u000a] 10", "[a] 97", "[\ufffd] 195")
    assert lines[256:] == ["[a][\\u000a] -> [a\\u000a] 256", "[a][a\\u000a] -> [aa\\u000a] 257", "[<a>] 300"]
    tokenizer.save(str(tmp_path / "mine"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.model", "mine.vocab"]


@pytest.mark.parametrize("module", ["cs336", "minbpe", "nanochat", "rustbpe", "sentencepiece"])
def test_look_alikes_stay_small(module):
    source = Path(minbpe.__file__).with_name(f"{module}.py")
    assert len(source.read_text(encoding="utf-8").splitlines()) <= 150


def test_files_that_are_not_ours(tmp_path):
    tokenizer = RegexTokenizer()
    with pytest.raises(MissingInput):
        tokenizer.load(str(tmp_path / "no.model"))
    with pytest.raises(WrongType, match=r"\.model"):
        tokenizer.load(str(tmp_path / "no"))
    for content in (b"minbpe v1\n", b"[]", b"\xff", b'{"format": "slmtok-minbpe", "version": 1, "pattern": "gpt2"}'):
        (tmp_path / "bad.model").write_bytes(content)
        with pytest.raises(CorruptFile):
            tokenizer.load(str(tmp_path / "bad.model"))


def test_verbose_logs_each_merge(caplog, capsys):
    tokenizer = BasicTokenizer()
    with caplog.at_level("INFO", logger="slmtok.compat.minbpe"):
        tokenizer.train("abab", 257, verbose=True)
        tokenizer.train("abab", 257)
    assert caplog.messages == ["merge 1/1: (97, 98) -> 256 (b'ab')"]
    assert capsys.readouterr().out == ""


def test_misuse():
    with pytest.raises(VocabularyTooSmall):
        RegexTokenizer().train("a", 255)
    with pytest.raises(WrongType):
        RegexTokenizer().train(b"a", 300)
    with pytest.raises(UnknownId, match="id 700"):
        RegexTokenizer().decode([97, 700])
    assert RegexTokenizer(minbpe.GPT4_SPLIT_PATTERN).decode([0xFF, 97]) == "\ufffda"


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_names_of_files_are_no_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    for name in ("a.txt", Path("a.txt")):
        tokenizer = RegexTokenizer()
        with pytest.raises(WrongType, match=r"the name of a file that exists: 'a\.txt'") as caught:
            tokenizer.train(name, 280)
        eval(str(caught.value.fix), {"train": tokenizer.train})
        expected = RegexTokenizer()
        expected.train(TEXT, 280)
        assert tokenizer.merges == expected.merges
    with pytest.raises(WrongType, match="takes one text, not a list") as caught:
        tokenizer.train(["the cat", "the cat"], 260)
    eval(str(caught.value.fix), {"train": tokenizer.train, "texts": ["the cat", "the cat"]})
    tokenizer.train("missing.txt and missing.txt", 260)


def test_files_that_are_no_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tok = slmtok.train(slmtok.Texts([TEXT]), vocab_size=280)
    for name in ("tok.json", "renamed.model"):
        tok.save(name)
        with pytest.raises(CorruptFile, match="is a tokenizer file of slmtok, not a model of minbpe") as caught:
            BasicTokenizer().load(name)
        assert eval(str(caught.value.fix), {"slmtok": slmtok}) == tok
    tokenizer = BasicTokenizer()
    tokenizer.train(TEXT, 260)
    tokenizer.save("mine")
    for name in ("mine", "mine.vocab", Path("mine")):
        with pytest.raises(WrongType, match=r"does not end in \.model") as caught:
            tokenizer.load(name)
        assert caught.value.fix == "load('mine.model')"
        eval(caught.value.fix, {"load": tokenizer.load})
    Path("a.txt").write_text(TEXT)
    with pytest.raises(WrongType) as caught:
        tokenizer.load("a.txt")
    assert caught.value.fix == "train(text, 1024) and save('tok'), then load('tok.model')"


@pytest.mark.parametrize(
    ("given", "texts"), [(["<|a|>", "<|b|>"], ["<|a|>", "<|b|>"]), ("<|a|>", ["<|a|>"]), ({"<|a|>": 3}, ["<|a|>"])]
)
def test_specials_without_sound_ids_get_the_next_ones(given, texts):
    tokenizer = RegexTokenizer()
    tokenizer.train(TEXT, 260)
    with pytest.raises((WrongType, InvalidSpecials)) as caught:
        tokenizer.register_special_tokens(given)
    meant = eval(caught.value.fix)
    assert meant == {text: 260 + number for number, text in enumerate(texts)}
    tokenizer.register_special_tokens(meant)
    assert tokenizer.encode("<|a|>", allowed_special="all") == [260]


def test_a_prefix_that_ends_as_a_model_is_loaded_by_the_fix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tokenizer = BasicTokenizer()
    tokenizer.train(TEXT, 260)
    tokenizer.save("mine.model")
    with pytest.raises(MissingInput) as caught:
        tokenizer.load("mine.model")
    assert caught.value.fix == "load('mine.model.model')"
    eval(caught.value.fix, {"load": tokenizer.load})


def test_a_list_of_texts_is_encoded_by_the_fix():
    tokenizer, texts = RegexTokenizer(), ["a b", "c"]
    with pytest.raises(WrongType) as caught:
        tokenizer.encode(texts)
    assert eval(caught.value.fix, {"tok": tokenizer, "texts": texts}) == [tokenizer.encode(text) for text in texts]
