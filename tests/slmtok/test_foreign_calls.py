"""Values and keywords of other libraries in Python: each error has a fix that works."""

from __future__ import annotations

import copy
import pickle
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import slmtok
from slmtok.analysis.measure import measure
from slmtok.compat.tokenizers import ByteLevelBPETokenizer
from slmtok.errors import OptionError, SlmtokError, UnknownOption, VocabularyTooSmall, WrongType
from slmtok.foreign_options import OF_OTHERS, OF_SENTENCEPIECE

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


def test_two_texts_by_position_are_no_text_and_its_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("low lower lowest\n" * 9)
    for call, fix in (
        (lambda: slmtok.count("a.txt", "b.txt"), "slmtok.count(['a.txt', 'b.txt'])"),
        (lambda: slmtok.train("a.txt", "b.txt", vocab_size=275), "slmtok.train(['a.txt', 'b.txt'], vocab_size=275)"),
        (lambda: slmtok.count("a.txt", "new.counts"), "slmtok.count('a.txt').save('new.counts')"),
    ):
        with pytest.raises(WrongType) as caught:
            call()
        assert caught.value.fix == fix
        eval(fix)
    assert (tmp_path / "b.txt").read_text() == "low lower lowest\n" * 9


def test_a_text_before_its_tokenizer_is_moved(tok):
    with pytest.raises(WrongType) as caught:
        slmtok.view("O happy dagger!", tok)
    assert caught.value.fix == "slmtok.view(tok, 'O happy dagger!')"


def test_a_tokenizer_without_a_vocabulary_says_what_makes_one():
    with pytest.raises(WrongType, match="lacks 'vocabulary'") as caught:
        slmtok.Tokenizer()
    assert str(caught.value.fix).startswith("slmtok.train('CORPUS', vocab_size=8192) makes one")


def test_an_id_map_is_no_list_of_ids(tok):
    pruned = slmtok.prune(tok, unused_on=slmtok.Texts(["the cat"]))
    with pytest.raises(OptionError, match=f"ids is an id map: the new ids of all {tok.n_vocab} ids, -1 for") as caught:
        slmtok.prune(tok, ids=pruned.id_map)
    ids = eval(str(caught.value.fix).removeprefix("ids=").partition(" removes")[0], {"np": np, "id_map": pruned.id_map})
    assert slmtok.prune(tok, ids=ids).tokenizer == pruned.tokenizer
    with pytest.raises(OptionError, match="id -1 cannot be pruned"):
        slmtok.prune(tok, ids=[-1])


def test_segments_among_texts_lead_to_their_call(tok):
    parts = [slmtok.Special("bos"), "the cat"]
    for call in (tok.encode, tok.encode_batch):
        with pytest.raises(WrongType) as caught:
            call(parts)
        code = str(caught.value.fix)
        assert code == "tok.encode_segments([slmtok.Special('bos'), 'the cat']).ids"
        assert eval(code, {"tok": tok, "slmtok": slmtok}).tolist() == [1, *tok.encode_list("the cat")]


@pytest.mark.parametrize("name", ["skip_special", "skip_special_tokens"])
def test_a_batch_without_specials(tok, name):
    rows = [[1, 300 % tok.n_vocab], [2]]
    with pytest.raises(UnknownOption) as caught:
        tok.decode_batch(rows, **{name: True})
    found = eval(str(caught.value.fix), {"tok": tok, "rows": rows})
    assert found == [tok.decode(rows[0][1:]), ""]
    with pytest.raises(UnknownOption, match="leave it out: special tokens give their spelling"):
        tok.decode_batch(rows, **{name: False})


def test_more_ids_below_the_least_size_are_new_ones(tok):
    with pytest.raises(VocabularyTooSmall, match="vocab_size=10 is below the minimum size") as caught:
        slmtok.extend(tok, slmtok.count(TEXTS), vocab_size=10)
    assert caught.value.to_dict()["fix"] == f"vocab_size={tok.n_vocab + 10} for 10 more"


@pytest.mark.parametrize(
    ("special", "fix"),
    [
        ({"<|user|>": 16}, {"user": "<|user|>"}),
        ({"user": 16}, {"user": "<|user|>"}),
        ({"eos": "</e>", "<|a|>": 6}, {"eos": "</e>", "a": "<|a|>"}),
    ],
)
def test_spellings_with_ids(special, fix):
    with pytest.raises(WrongType) as caught:
        slmtok.train(TEXTS, vocab_size=285, special=special)
    assert caught.value.fix == f"special={fix}"
    specials = slmtok.train(TEXTS, vocab_size=280, special=fix).specials
    assert all(specials.text(role) == text for role, text in fix.items())


def test_specials_are_immutable(tok):
    with pytest.raises(AttributeError, match=r"specials are immutable; tok = tok.with_special\('eos', '<x>'\) makes"):
        tok.specials.eos = "<x>"
    with pytest.raises(AttributeError, match="immutable, and the ids of roles never change; tok = "):
        tok.specials.eos = 5
    assert copy.deepcopy(tok.specials) == pickle.loads(pickle.dumps(tok.specials)) == tok.specials


def test_a_glob_in_the_place_of_counts_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    slmtok.count(TEXTS).save("a.counts")
    with pytest.raises(WrongType) as caught:
        slmtok.merge_counts("*.counts", "m.counts")
    exec(str(caught.value.fix), {"slmtok": slmtok})
    assert Path("m.counts").is_file()


def test_names_of_other_libraries_lead_to_what_has_them(tok):
    processor = import_module("slmtok.compat.sentencepiece").SentencePieceProcessor(tok)
    for name in OF_SENTENCEPIECE:
        with pytest.raises(AttributeError, match=rf"SentencePieceProcessor\(tok\).{name} is that of the library"):
            getattr(tok, name)
        assert hasattr(processor, name)
    for name in OF_OTHERS:
        with pytest.raises(AttributeError) as caught:
            getattr(tok, name)
        code = re.split(" has | makes ", str(caught.value).partition("; ")[2])[0]
        known = {"slmtok": slmtok, "tok": tok, "texts": ["low lower"] * 30, "ids": tok.encode("low"), "id": 97}
        assert eval(code.replace("8192", "274"), known), name


def test_records_that_are_encoded_as_they_are(tok, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    with pytest.warns(UserWarning, match="is encoded as it is, JSON included; slmtok.pack"):
        tok.encode_files(tmp_path / "a.jsonl", tmp_path / "ids.bin")


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
    assert caught.value.fix == "tok.decode([116, 104, 101])"
    with pytest.raises(WrongType) as caught:
        tok.decode("116 " * 30)
    assert caught.value.fix == "tok.decode(list(map(int, ids.split())))"
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
    with pytest.raises(WrongType, match=r"an id has no value(.|\n)*device='cpu'"):
        tok.decode(torch.ones(2, dtype=torch.int64, device="meta"))
    with pytest.raises(WrongType, match="a mask"):
        tok.decode(torch.ones(2, dtype=torch.bool))
    for call in (tok.decode, tok.decode_batch):
        with pytest.raises(WrongType, match=r"this is one id\n  fix:   tok.decode\(\[3\]\)"):
            call(torch.tensor(3))
    assert tok.decode(torch.tensor([100, 101])) == tok.decode([100, 101])


def test_a_list_of_floats(tok):
    with pytest.raises(WrongType, match=r"fix:   list\(map\(int, \[20\.0, 21\.0\]\)\)"):
        tok.decode([20.0, 21.0])
    with pytest.raises(WrongType, match="takes many id sequences, this is one"):
        tok.decode_batch([20.0, 21.0])


@pytest.mark.parametrize(
    ("keywords", "fix"),
    [
        ({"character_coverage": 0.9995}, "leave it out: the 256 bytes of each tokenizer cover every character"),
        ({"model_prefix": "m"}, "leave it out; tok.save('m.json') writes the tokenizer"),
        ({"min_freq": 3}, "min_count=3"),
        ({"regex": "gpt2"}, "pattern='gpt2'"),
        ({"unk_token": "<unk>"}, "special={'unk': '<unk>'}, for instance"),
        ({"vocabsize": 300}, "leave it out: vocab_size is given already"),
        ({"vocabsize": "300", "vocab_size": 285}, "leave it out: vocab_size is given already"),
        ({"min_cnt": "5"}, "min_count=5"),
        ({"save": "a.json"}, "slmtok.train(slmtok.Texts(texts), vocab_size=285).save('a.json')"),
        (
            {"save": "a.json", "min_freq": 3},
            "for save leave it out; tok.save('a.json') writes the tokenizer; for min_freq min_count=3",
        ),
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
    assert str(caught.value.fix).partition("; text that spells it stays text")[0] == fix


def test_the_corpus_under_another_name():
    with pytest.raises(UnknownOption) as caught:
        slmtok.train(input="a.txt", vocab_size=300)
    assert caught.value.fix == "corpus='a.txt'"


@pytest.mark.parametrize(("name", "fix"), [("shardtokens", "shard_tokens=9"), ("shard_size", "shard_tokens=9")])
def test_options_of_packing(tok, name, fix):
    with pytest.raises(UnknownOption) as caught:
        slmtok.pack("a.txt", tok, "out", **{name: 9})
    assert caught.value.fix == fix


@pytest.mark.parametrize("name", ["shard_size", "max_shard_size"])
def test_a_size_of_shards_in_bytes(tok, name):
    """The bytes were proposed as the number of ids."""
    with pytest.raises(UnknownOption) as caught:
        slmtok.pack("a.txt", tok, "out", **{name: "4MB"})
    assert caught.value.fix == "shard_tokens=2000000, which are 4MB of ids of two bytes each"


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


def test_unknown_keywords_are_named_at_once(tok):
    """Those of transformers are taken together by the call that has them, which is pasted as printed."""
    options = {"add_special_tokens": True, "max_length": 10, "truncation": True}
    for encode, text in ((tok.encode, "low lower"), (tok.encode_batch, ["low lower"])):
        with pytest.raises(UnknownOption) as caught:
            encode(text, **options)
        assert "has no options 'add_special_tokens', 'max_length', 'truncation'" in str(caught.value)
        fix = caught.value.fix
        assert fix.startswith("slmtok.compat.as_hf(tok)") and "add_special_tokens=True, max_length=10" in fix
        assert eval(fix, {"slmtok": slmtok, "tok": tok})
    with pytest.raises(UnknownOption, match=r"truncation=True.*; for add_eot help\(slmtok.Tokenizer.encode\)$"):
        tok.encode("low", max_length=10, add_eot=True, truncation=True)


def test_unknown_keywords_without_counterpart_are_shown_together(tok):
    with pytest.raises(UnknownOption) as caught:
        tok.encode("low", foo=1, baz=2)
    assert "has no options 'foo', 'baz'" in str(caught.value) and caught.value.fix == "help(slmtok.Tokenizer.encode)"
    with pytest.raises(UnknownOption) as caught:
        tok.encode("low", foo=1, eos_=True, qux=1)
    assert caught.value.fix == "for eos_ eos=True; for foo, qux help(slmtok.Tokenizer.encode)"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda tok: slmtok.train(TEXTS, frobnicate=1), "slmtok.train"),
        (lambda tok: slmtok.count(TEXTS, frobnicate=1), "slmtok.count"),
        (lambda tok: slmtok.pack("corpus.txt", tok, "data", frobnicate=1), "slmtok.pack"),
        (lambda tok: slmtok.load("tok.json", frobnicate=1), "slmtok.load"),
        (lambda tok: slmtok.Texts([], frobnicate=1), "slmtok.Texts"),
        (lambda tok: tok.encode_batch(["low"]).to_torch(frobnicate=1), "slmtok.Ragged.to_torch"),
        (lambda tok: slmtok.compat.as_hf(tok, frobnicate=1), "slmtok.compat.as_hf"),
        (lambda tok: slmtok.compat.as_hf(tok)("low", frobnicate=1), "slmtok.compat.hf.HFTokenizer.__call__"),
        (lambda tok: slmtok.compat.as_hf(tok).decode([1], frobnicate=1), "slmtok.compat.hf.HFTokenizer.decode"),
        (
            lambda tok: slmtok.compat.as_tiktoken(tok).encode("low", frobnicate=1),
            "slmtok.compat.tiktoken.Encoding.encode",
        ),
        (lambda tok: measure([("tok", tok)], [], frobnicate=1), "slmtok.analysis.measure.measure"),
        (
            lambda tok: ByteLevelBPETokenizer().encode("low", frobnicate=1),
            "slmtok.compat.tokenizers.ByteLevelBPETokenizer.encode",
        ),
    ],
)
def test_an_option_of_no_known_meaning_is_shown_the_options_that_exist(tok, call, shown):
    """A call without the option would do something else than was meant."""
    with pytest.raises(UnknownOption) as caught:
        call(tok)
    assert caught.value.fix == f"help({shown})" and str(caught.value.limit).startswith(("options: ", "known: "))
    assert callable(eval(shown, {"slmtok": slmtok}))


@pytest.mark.parametrize("name", ["num_merges", "n_merges", "merges"])
def test_a_number_of_merges_is_a_size_less_specials_and_bytes(tok, name):
    with pytest.raises(UnknownOption) as caught:
        slmtok.train(TEXTS, **{name: 5})
    assert caught.value.fix == "vocab_size=277, which counts 272 specials and bytes too"
    assert len(slmtok.train(TEXTS, vocab_size=277).vocabulary.merges) == 5
    with pytest.raises(UnknownOption) as caught:
        slmtok.extend(tok, slmtok.count(TEXTS), **{name: 5})
    assert str(caught.value.fix).startswith(f"vocab_size={tok.n_vocab + 5}")
