"""Values and keywords of other libraries in Python: each error has a fix that works."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import slmtok
from slmtok.errors import OptionError, SlmtokError, UnknownOption, VocabularyTooSmall, WrongType

TEXTS = slmtok.Texts(["low low low lower", "newest newest widest"] * 30)


@pytest.fixture(scope="module")
def tok() -> slmtok.Tokenizer:
    return slmtok.train(TEXTS, vocab_size=285)


@pytest.mark.parametrize("size", [-1, 0, 271, -(10**12)])
def test_a_size_that_is_too_small_names_one_that_works(tok, size):
    for call in (
        lambda: slmtok.train(TEXTS, vocab_size=size),
        lambda: slmtok.slice(tok, size),
        lambda: slmtok.prune(tok, unused_on=slmtok.count(TEXTS), keep=size),
    ):
        with pytest.raises(VocabularyTooSmall) as caught:
            call()
        found = caught.value.fix.split(",")[0].split("=")[1]
        assert int(found) >= 272 and "limit: 272 = " in str(caught.value)


def test_a_tokenizer_without_a_vocabulary_says_what_makes_one():
    with pytest.raises(WrongType, match="lacks 'vocabulary'") as caught:
        slmtok.Tokenizer()
    assert str(caught.value.fix).startswith("slmtok.train('corpus.txt', vocab_size=8192) makes one")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_numbers_that_are_no_integers_are_no_ids(tok, dtype):
    ids = np.array([300, 301] if dtype != "float16" else [20, 21], dtype=dtype)[None] * 0 + 20
    for call in (lambda: tok.decode(ids[0]), lambda: tok.decode_batch(ids), lambda: tok.decode_bytes(ids)):
        with pytest.raises(WrongType, match=f"ids are integers, and these are {dtype}") as caught:
            call()
        assert "ids.astype('int64')" in caught.value.fix
    assert tok.decode(np.array([])) == ""


def test_texts_without_text():
    with pytest.raises(SlmtokError, match=r"the corpus is empty.*\n  fix:   give text, or name files that hold it"):
        slmtok.train(slmtok.Texts([""]), vocab_size=300)


@pytest.mark.parametrize(("text", "fix"), [({"text": "a"}, "row['text'] for row in rows"), (["a"], "for row in rows")])
def test_records_and_rows_in_the_place_of_texts(text, fix):
    with pytest.raises(WrongType, match="text 0 is") as caught:
        slmtok.train(slmtok.Texts([text]), vocab_size=300)
    assert fix in caught.value.fix


def test_ids_as_text_and_numbers_between_ids(tok):
    with pytest.raises(WrongType) as caught:
        tok.decode("116 104 101")
    assert caught.value.fix == "list(map(int, ids.split()))"
    with pytest.raises(WrongType, match=r"300\.5 is float") as caught:
        tok.decode([300.5, 301])
    assert "these are no ids" in caught.value.fix


def test_tensors_that_are_no_ids(tok):
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16):
        with pytest.raises(WrongType, match=r"these are b?float.*\n  fix:   ids.long\(\); of logits: tok.decode"):
            tok.decode(torch.ones(3, dtype=dtype))
    with pytest.raises(WrongType, match=r"shape \(2, 3\)"):
        tok.decode(torch.ones(2, 3, dtype=torch.int64))
    with pytest.raises(WrongType, match="an id has no value"):
        tok.decode(torch.ones(2, dtype=torch.int64, device="meta"))
    with pytest.raises(WrongType, match="a mask"):
        tok.decode(torch.ones(2, dtype=torch.bool))
    for call in (tok.decode, tok.decode_batch):
        with pytest.raises(WrongType, match=r"this is one id\n  fix:   tok.decode\(\[id\]\)"):
            call(torch.tensor(3))
    assert tok.decode(torch.tensor([100, 101])) == tok.decode([100, 101])


def test_a_list_of_floats(tok):
    with pytest.raises(WrongType, match=r"fix:   list\(map\(int, ids\)\)"):
        tok.decode([20.0, 21.0])
    with pytest.raises(WrongType, match="takes many id sequences, this is one"):
        tok.decode_batch([20.0, 21.0])


@pytest.mark.parametrize(
    ("keywords", "fix"),
    [
        ({"character_coverage": 0.9995}, "leave it out: the 256 bytes of each tokenizer cover every character"),
        ({"model_prefix": "m"}, "leave it out; tok.save('tok.json') writes the tokenizer"),
        ({"min_freq": 3}, "min_count=3"),
        ({"regex": "gpt2"}, "pattern='gpt2'"),
        ({"unk_token": "<unk>"}, "special={'unk': '<unk>'}, for instance"),
        ({"vocabsize": 300}, "leave it out: vocab_size is given already"),
        ({"vocabsize": "300", "vocab_size": 285}, "leave it out: vocab_size is given already"),
        ({"min_cnt": "5"}, "min_count=5"),
        ({"save": "a.json"}, "slmtok.train(slmtok.Texts(texts), vocab_size=285).save('a.json')"),
        ({"save": "a.json", "min_freq": 3}, "leave it out; tok.save('a.json') writes the tokenizer"),
        ({"specials": {"eot": "<|endoftext|>"}}, "special={'eot': '<|endoftext|>'}"),
        ({"special_tokens": {"pad_token": "[PAD]"}}, "special={'pad': '[PAD]'}"),
        ({"special_tokens": {"<|endoftext|>": 50256}}, "special={'eos': '<|endoftext|>'}"),
        ({"max_bytes": "1GB"}, "max_bytes=1000000000"),
        ({"scheme": "unigram"}, "scheme='bpe', which is the nearest; slmtok has no unigram"),
        ({"threads": 100_000}, "threads=0, which is all cores"),
    ],
)
def test_options_of_other_trainers(keywords, fix):
    with pytest.raises(SlmtokError) as caught:
        slmtok.train(TEXTS, **{"vocab_size": 285, **keywords})
    assert caught.value.fix == fix


def test_the_corpus_under_another_name():
    with pytest.raises(UnknownOption) as caught:
        slmtok.train(input="a.txt", vocab_size=300)
    assert caught.value.fix == "corpus='a.txt'"


@pytest.mark.parametrize(("name", "fix"), [("shardtokens", "shard_tokens=9"), ("shard_size", "shard_tokens=9")])
def test_options_of_packing(tok, name, fix):
    with pytest.raises(UnknownOption) as caught:
        slmtok.pack("a.txt", tok, "out", **{name: 9})
    assert caught.value.fix == fix


def test_counts_of_another_pattern_are_named(tok):
    with pytest.raises(OptionError, match="the counts have pattern 'gpt2', and the tokenizer has 'slm'") as caught:
        slmtok.prune(tok, unused_on=slmtok.count(TEXTS, pattern="gpt2"))
    assert caught.value.fix == "count again with pattern='slm'"


def test_all_threads_of_the_bound_work(tok):
    assert len(tok.encode_batch(["a b"] * 100, threads=1024)) == 100


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("sentencepiece", "SentencePieceTrainer"),
        ("tokenizers", "BertWordPieceTokenizer"),
        ("minbpe", "GPT4Tokenizer"),
        ("nanochat", "HuggingFaceTokenizer"),
        ("tokenizers", "trainers"),
    ],
)
def test_names_that_adapters_lack(module: str, name: str) -> None:
    adapter = import_module(f"slmtok.compat.{module}")
    with pytest.raises(ImportError, match=f"has no '{name}'\n  fix:   "):
        getattr(adapter, name)
    with pytest.raises(AttributeError, match=f"'Trainer'; it has .*{adapter.__all__[-1]}"):
        adapter.Trainer  # noqa: B018
